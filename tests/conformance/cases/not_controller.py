"""Requests that only the controller can handle, sent to a broker that is not the controller. Each
type of response reports the error in a different way, and some types have no text.
"""

from typing import Final

from kafka_edu.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafka_edu.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kafka_edu.protocol.messages.create_partitions import CreatePartitionsRequest
from kafka_edu.protocol.messages.create_topics import CreateTopicsRequest
from kafka_edu.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafka_edu.protocol.messages.elect_leaders import ElectLeadersRequest
from kafka_edu.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)
from tests.conformance.cases.admin_controller import (
    PREFERRED,
    UNCLEAN,
    elect,
    isr,
    reassign,
    reassignments,
)
from tests.conformance.cases.admin_refused import update_features
from tests.conformance.cases.admin_topics import create, extend
from tests.conformance.replay import Asker

#: Two brokers run. The requests go to the one that is not the controller.
BESIDE_CONTROLLER: Final = True
SETTINGS: Final[dict[str, str]] = {}
DIFFERENT: Final[dict[str, str]] = {}


def scram(
    *, delete: tuple[str, ...] = (), upsert: tuple[str, ...] = ()
) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(
        deletions=[ScramCredentialDeletion(name=name, mechanism=1) for name in delete],
        upsertions=[
            ScramCredentialUpsertion(
                name=name, mechanism=1, iterations=4096, salt=b"salt", salted_password=b"salted"
            )
            for name in upsert
        ],
    )


def ask_all(asker: Asker) -> None:
    twice = create("t").topics * 2
    for version in range(8):
        asker.ask("create", create("t"), version)
        asker.ask("create one twice", CreateTopicsRequest(topics=twice, timeout_ms=1000), version)
        asker.ask("create nothing", CreateTopicsRequest(topics=[], timeout_ms=1000), version)
    for version in range(6):
        asker.ask(
            "delete", DeleteTopicsRequest(topic_names=["t", "u", "t"], timeout_ms=1000), version
        )
        asker.ask("delete nothing", DeleteTopicsRequest(topic_names=[], timeout_ms=1000), version)
    asker.ask(
        "delete",
        DeleteTopicsRequest(
            topics=[DeleteTopicState(name="t"), DeleteTopicState(name="u")], timeout_ms=1000
        ),
        6,
    )
    for version in range(4):
        asker.ask("more partitions", extend("t", count=3), version)
        asker.ask(
            "more partitions, twice",
            CreatePartitionsRequest(
                topics=extend("t", count=3).topics * 2, timeout_ms=1000, validate_only=False
            ),
            version,
        )
        asker.ask(
            "more partitions of nothing",
            CreatePartitionsRequest(topics=[], timeout_ms=1000, validate_only=False),
            version,
        )
    for version in range(3):
        asker.ask("elect", elect(PREFERRED, ("t", [0, 1]), ("u", [0])), version)
        asker.ask(
            "elect all",
            ElectLeadersRequest(election_type=PREFERRED, topic_partitions=None, timeout_ms=1000),
            version,
        )
    asker.ask("elect unclean", elect(UNCLEAN, ("t", [0])), 2)
    asker.ask("reassign", reassign(("t", 0, [0]), ("t", 1, None), ("u", 0, [])), 0)
    asker.ask("reassign nothing", reassign(), 0)
    asker.ask("all reassignments", ListPartitionReassignmentsRequest(topics=None), 0)
    asker.ask("reassignments of one", reassignments(("t", [0])), 0)
    asker.ask("an ISR", isr(0, -1, ("t", 0, [0])), 0)
    asker.ask("no ISR", isr(0, -1), 0)
    asker.ask("a user's password", scram(upsert=("a",)), 0)
    asker.ask("users' passwords", scram(delete=("a", "b"), upsert=("b", "c")), 0)
    asker.ask("nobody's password", scram(), 0)
    asker.ask("a feature", update_features(("foo", 1, False)), 0)
    asker.ask("no feature", update_features(), 0)
    for version in range(4):
        asker.ask(
            "a controlled shutdown",
            ControlledShutdownRequest(broker_id=7, broker_epoch=-1),
            version,
        )
