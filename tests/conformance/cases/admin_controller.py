"""Requests to the controller: elections, reassignments, ISRs."""

from collections.abc import Sequence
from typing import Final

from kafka_edu.protocol.messages.alter_isr import (
    AlterIsrRequest,
    AlterIsrRequestPartition,
    AlterIsrRequestTopic,
)
from kafka_edu.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafka_edu.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from kafka_edu.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafka_edu.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tests.conformance.cases.admin_topics import create, extend
from tests.conformance.replay import Asker

SETTINGS: Final[dict[str, str]] = {}
NEVER_LED: Final = (
    "the partition has never had a leader: 2.8.2 begins the move, or gives it up, and fails where"
    " it is to raise the leader epoch"
)
MOVES: Final = (
    "away from a dead leader",
    "another target while it waits",
    "to another of the dead while it waits",
    "cancel what waits",
)
DIFFERENT: Final = {f"{name}, AlterPartitionReassignmentsRequest v0": NEVER_LED for name in MOVES}
PREFERRED, UNCLEAN = 0, 1


def elect(
    kind: int, *partitions: tuple[str, list[int]], timeout_ms: int = 10_000
) -> ElectLeadersRequest:
    topics = [TopicPartitions(topic=topic, partition_id=numbers) for topic, numbers in partitions]
    return ElectLeadersRequest(election_type=kind, topic_partitions=topics, timeout_ms=timeout_ms)


def reassign(*wishes: tuple[str, int, list[int] | None]) -> AlterPartitionReassignmentsRequest:
    topics = [
        ReassignableTopic(
            name=name, partitions=[ReassignablePartition(partition_index=p, replicas=ids)]
        )
        for name, p, ids in wishes
    ]
    return AlterPartitionReassignmentsRequest(topics=topics)


def reassignments(*topics: tuple[str, list[int]]) -> ListPartitionReassignmentsRequest:
    listed = [
        ListPartitionReassignmentsTopics(name=name, partition_indexes=numbers)
        for name, numbers in topics
    ]
    return ListPartitionReassignmentsRequest(topics=listed)


def assigned(name: str, *replicas: list[int]) -> CreateTopicsRequest:
    """Return a request for a topic with given replicas. It does not wait for leaders."""
    assignments = [
        CreatableReplicaAssignment(partition_index=number, broker_ids=ids)
        for number, ids in enumerate(replicas)
    ]
    topic = CreatableTopic(
        name=name, num_partitions=-1, replication_factor=-1, assignments=assignments
    )
    return CreateTopicsRequest(topics=[topic], timeout_ms=0)


def isr(broker_id: int, epoch: int, *partitions: tuple[str, int, Sequence[int]]) -> AlterIsrRequest:
    topics = [
        AlterIsrRequestTopic(
            name=name, partitions=[AlterIsrRequestPartition(partition_index=p, new_isr=list(ids))]
        )
        for name, p, ids in partitions
    ]
    return AlterIsrRequest(broker_id=broker_id, broker_epoch=epoch, topics=topics)


def ask_all(asker: Asker) -> None:
    asker.ask("create", create("l", 2), 4)
    for version in range(3):
        asker.ask("preferred, and there already", elect(PREFERRED, ("l", [0])), version)
        asker.ask(
            "all partitions",
            ElectLeadersRequest(election_type=PREFERRED, topic_partitions=None, timeout_ms=10_000),
            version,
        )
    for version in (1, 2):
        asker.ask("unclean, with a leader", elect(UNCLEAN, ("l", [0])), version)
        asker.ask(
            "unclean, all partitions",
            ElectLeadersRequest(election_type=UNCLEAN, topic_partitions=None, timeout_ms=10_000),
            version,
        )
    for topic, partition in (("nope", 0), ("l", 9), ("a b", 0)):
        asker.ask(f"elect {topic} {partition}", elect(PREFERRED, (topic, [partition])), 2)
    asker.ask("no partitions", elect(PREFERRED), 1)
    asker.ask("an election type that is none", elect(2, ("l", [0])), 1)
    asker.ask("one partition twice", elect(PREFERRED, ("l", [0, 0]), ("l", [0])), 2)
    asker.ask(
        "several without time", elect(PREFERRED, ("l", [0, 1]), ("nope", [1]), timeout_ms=0), 2
    )

    for replicas in ([0], None, [], [0, 0], [-1], [7], [0, 7], [0, -2]):
        asker.ask(f"to {replicas}", reassign(("l", 0, replicas)), 0)
    asker.ask("reassign an unknown topic", reassign(("nope", 0, [0])), 0)
    asker.ask("reassign an unknown topic to nobody alive", reassign(("nope", 0, [7])), 0)
    asker.ask("cancel for an unknown topic", reassign(("nope", 0, None)), 0)
    asker.ask("reassign an unknown partition", reassign(("l", 9, [0])), 0)
    asker.ask("reassign a bad name", reassign(("a b", 0, [0])), 0)
    asker.ask("reassign one twice", reassign(("l", 0, [0]), ("l", 0, [])), 0)
    asker.ask("reassign two", reassign(("l", 0, [0]), ("l", 1, [0])), 0)
    asker.ask("reassign nothing", reassign(), 0)
    asker.ask("all reassignments", ListPartitionReassignmentsRequest(topics=None), 0)
    asker.ask("reassignments of one", reassignments(("l", [0])), 0)
    asker.ask("reassignments of an unknown topic", reassignments(("nope", [0])), 0)
    asker.ask("reassignments of nothing", reassignments(), 0)

    # Broker 7 never existed. A partition whose replicas are all on it stays without a leader, and a
    # reassignment that waits for it never ends.
    asker.ask("create with a dead replica", assigned("m", [0, 7], [7, 8]), 4)
    asker.ask(
        "to another order",
        reassign(("m", 0, [7, 0])),
        0,
        until=lambda r: r.responses[0].partitions[0].error_code == 0,
    )
    asker.ask("without the dead one", reassign(("m", 0, [0])), 0)
    asker.ask("reassignments when it is done", reassignments(("m", [0, 1])), 0)
    asker.ask("cancel what is done", reassign(("m", 0, None)), 0)
    asker.ask("away from a dead leader", reassign(("m", 1, [0])), 0)
    asker.ask("reassignments while it waits", ListPartitionReassignmentsRequest(topics=None), 0)
    asker.ask("reassignments of others while it waits", reassignments(("l", [0]), ("m", [0])), 0)
    asker.ask("new partitions while it waits", extend("m", count=3), 1)
    asker.ask("another target while it waits", reassign(("m", 1, [0, 7])), 0)
    asker.ask("reassignments with another target", reassignments(("m", [1])), 0)
    asker.ask("to another of the dead while it waits", reassign(("m", 1, [8])), 0)
    asker.ask("cancel what waits", reassign(("m", 1, None)), 0)
    asker.ask(
        "reassignments when it is cancelled", ListPartitionReassignmentsRequest(topics=None), 0
    )

    asker.ask("an ISR of a broker of long ago", isr(0, -1, ("l", 0, [0])), 0)
    asker.ask("an ISR of an unknown broker", isr(7, 1, ("l", 0, [0])), 0)
    asker.ask("no ISR", isr(0, -1), 0)
