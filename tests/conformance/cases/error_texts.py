"""The texts of errors that people see in their clients, compared word by word."""

from collections.abc import Sequence
from typing import Final

from kafka_edu.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafka_edu.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
)
from kafka_edu.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafka_edu.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from tests.conformance.cases.admin_refused import create_acl, delete_acls, describe_acls
from tests.conformance.cases.basics import NOW, produce
from tests.conformance.replay import Asker

SETTINGS: Final[dict[str, str]] = {}
DIFFERENT: Final[dict[str, str]] = {}
TIMEOUT_MS: Final = 5_000
TOPIC_RESOURCE: Final = 2

#: Values that a topic's configuration refuses, or that look as if it should.
CONFIGS: Final = (
    ("cleanup.policy", "odd"),
    ("cleanup.policy", "compact,odd"),
    ("cleanup.policy", "delete,"),
    ("cleanup.policy", ""),
    ("cleanup.policy", "Delete"),
    ("cleanup.policy", "a,b"),
    ("retention.ms", "x"),
    ("retention.ms", "-2"),
    ("compression.type", "odd"),
    ("min.cleanable.dirty.ratio", "2"),
    ("message.timestamp.type", "x"),
    ("segment.bytes", "1"),
    ("unclean.leader.election.enable", "maybe"),
    ("max.message.bytes", ""),
    ("min.insync.replicas", "0"),
    ("follower.replication.throttled.replicas", "x"),
    ("leader.replication.throttled.replicas", "0:0,x"),
    ("no.such.key", "1"),
)


def create(
    name: str,
    partitions: int = 1,
    replication_factor: int = 1,
    *,
    assignments: Sequence[Sequence[int]] = (),
    configs: Sequence[tuple[str, str]] = (),
    validate_only: bool = False,
) -> CreateTopicsRequest:
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=list(replicas))
            for index, replicas in enumerate(assignments)
        ],
        configs=[CreateableTopicConfig(name=key, value=value) for key, value in configs],
    )
    return CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS, validate_only=validate_only)


def add_partitions(
    name: str, count: int, assignments: Sequence[Sequence[int]] | None = None
) -> CreatePartitionsRequest:
    given = (
        None
        if assignments is None
        else [CreatePartitionsAssignment(broker_ids=list(replicas)) for replicas in assignments]
    )
    topic = CreatePartitionsTopic(name=name, count=count, assignments=given)
    return CreatePartitionsRequest(topics=[topic], timeout_ms=TIMEOUT_MS, validate_only=True)


def elect(topic: str, election_type: int = 0) -> ElectLeadersRequest:
    chosen = TopicPartitions(topic=topic, partition_id=[0])
    return ElectLeadersRequest(
        election_type=election_type, topic_partitions=[chosen], timeout_ms=TIMEOUT_MS
    )


def alter(name: str, value: str) -> IncrementalAlterConfigsRequest:
    resource = AlterConfigsResource(
        resource_type=TOPIC_RESOURCE,
        resource_name="two",
        configs=[AlterableConfig(name=name, config_operation=0, value=value)],
    )
    return IncrementalAlterConfigsRequest(resources=[resource], validate_only=True)


def ask_all(asker: Asker) -> None:
    asker.words = True
    asker.ask("a topic of two partitions", create("two", 2), 4)
    ask_topics(asker)
    for key, value in CONFIGS:
        refused = create("new", configs=[(key, value)], validate_only=True)
        asker.ask(f"a topic with {key}={value}", refused, 4)
        asker.ask(f"{key}={value} for a topic", alter(key, value), 0)
    ask_partitions(asker)
    asker.ask("elect the leader that leads", elect("two"), 0)
    asker.ask("elect the leader that leads", elect("two"), 1)
    asker.ask("elect any leader where there is one", elect("two", 1), 1)
    asker.ask("elect a leader of a topic that is not there", elect("nobody"), 1)
    asker.ask("describe ACLs", describe_acls(), 1)
    asker.ask("create an ACL", create_acl(), 1)
    asker.ask("delete ACLs", delete_acls(), 1)
    ask_records(asker)


def ask_records(asker: Asker) -> None:
    compacted = create("keyed", configs=[("cleanup.policy", "compact")])
    asker.ask("a compacted topic", compacted, 4)
    records = [Record(i, NOW, b"k" if i == 1 else None, b"v") for i in range(3)]
    without_keys = produce(build_batch(records), topic="keyed")
    asker.ask("records without keys", without_keys, 8)


def ask_topics(asker: Asker) -> None:
    asker.ask("the same topic again", create("two", 2), 4)
    asker.ask("no partitions", create("new", 0), 4)
    asker.ask("more replicas than brokers", create("new", 1, 2), 4)
    asker.ask("no replicas", create("new", 1, 0), 4)
    for name in ("", ".", "a b", "x" * 250):
        asker.ask(f"a topic called '{name[:9]}'", create(name), 4)
    asker.ask("partitions, replicas and assignments", create("new", 2, 1, assignments=[[0]]), 4)
    asker.ask("partitions and assignments", create("new", 2, -1, assignments=[[0]]), 4)
    asker.ask("replicas and assignments", create("new", -1, 1, assignments=[[0]]), 4)


def ask_partitions(asker: Asker) -> None:
    for count in (3, 2, 1, 0, -1):
        asker.ask(f"{count} partitions in place of 2", add_partitions("two", count), 1)
    asker.ask("partitions of a topic that is not there", add_partitions("nobody", 2), 1)
    for count, assignments in (
        (4, [[0]]),
        (3, [[77]]),
        (4, [[77]]),
        (3, [[0, 0]]),
        (3, [[0, 77]]),
        (3, [[]]),
        (4, [[0], []]),
    ):
        asker.ask(
            f"{count} partitions, assigned as {assignments}",
            add_partitions("two", count, assignments),
            1,
        )
