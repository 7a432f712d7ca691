"""The events that the controller processes, one after the other.

(Kafka: ControllerEvent and its objects; book 000 §6.4.1, figure 6-14.) Watches, requests and timers
all become one of these events; `KafkaController` has one case for each. They are plain values, with
one exception. Five of them have an `answer`, an asyncio future that the caller awaits;
`KafkaController` creates and completes it. The future is part of the event because the queue may
drop an event unprocessed and must then fail the future.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_edu.cluster.broker import EndPoint
from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.words import joined
from kafka_edu.controller.isr_alterations import AlteredIsr
from kafka_edu.controller.leader_elections_asked import ElectionResult, ElectionType
from kafka_edu.controller.partition_reassignment_plan import ReassignmentResult
from kafka_edu.zk.zk_data import ReplicaAssignment


class Startup(NamedTuple):
    """The broker is up: find out who is the controller, or become it."""


class ControllerChange(NamedTuple):
    """/controller was created or written: resign if it no longer names us.

    When we read it, it may already be gone again. No other event follows then, so this one also
    leads to an election.
    """


class Reelect(NamedTuple):
    """/controller is gone: resign if it named us, and try to become the controller."""


class Expire(NamedTuple):
    """Our session is over, and /controller is gone with it: resign at once."""


class RegisterBrokerAndReelect(NamedTuple):
    """There is a new session: create the broker's znode again, and run for election."""


class UpdateBrokerInfo(NamedTuple):
    """This broker has new advertised addresses: write them into its znode.

    This happens on every broker, not only on the controller.
    """

    end_points: tuple[EndPoint, ...]


class BrokerChange(NamedTuple):
    """/brokers/ids has other children than before."""


class BrokerModifications(NamedTuple):
    """A broker wrote other listeners into its znode."""

    broker_id: int


class TopicChange(NamedTuple):
    """/brokers/topics has other children than before."""


class PartitionModifications(NamedTuple):
    """A topic's assignment was written: it may have more partitions now."""

    topic: str


class TopicDeletion(NamedTuple):
    """/admin/delete_topics has other children than before."""


class IsrChangeNotification(NamedTuple):
    """Leaders have changed ISRs: read them, and send them to all brokers."""


class LogDirEventNotification(NamedTuple):
    """Brokers have lost log dirs: find out which replicas were there."""


class PreferredReplicaElection(NamedTuple):
    """/admin/preferred_replica_election was written."""


class AutoPreferredReplicaLeaderElection(NamedTuple):
    """The timer of auto.leader.rebalance.enable has fired."""


class UncleanLeaderElectionEnable(NamedTuple):
    """This broker's unclean.leader.election.enable was switched on.

    It holds for all topics that do not set the key themselves.
    """


class TopicUncleanLeaderElectionEnable(NamedTuple):
    """A topic's unclean.leader.election.enable is on.

    It was switched on just now, or another config of the topic changed.
    """

    topic: str


class ZkPartitionReassignment(NamedTuple):
    """/admin/reassign_partitions was written, or is gone."""


class PartitionReassignmentIsrChange(NamedTuple):
    """The state of a partition that is being reassigned was written.

    A new replica may have caught up. The event also covers the other partitions that are noted
    before it is processed.
    """

    topic_partition: TopicPartition


class ControlledShutdown(NamedTuple):
    """A broker wants to shut down. `answer` gets the partitions that it still leads."""

    broker_id: int
    broker_epoch: int
    answer: asyncio.Future[list[TopicPartition]]


class ReplicaLeaderElection(NamedTuple):
    """A client requests elections. `answer` gets the result of each partition, or the error."""

    partitions: tuple[TopicPartition, ...]
    election_type: ElectionType
    answer: asyncio.Future[dict[TopicPartition, ElectionResult]]


class ApiPartitionReassignment(NamedTuple):
    """A client requests new replicas for partitions; None cancels a reassignment."""

    wanted: Mapping[TopicPartition, Sequence[int] | None]
    answer: asyncio.Future[dict[TopicPartition, ReassignmentResult]]


class ListPartitionReassignments(NamedTuple):
    """A client asks which of these partitions (None: of all) are being reassigned."""

    partitions: tuple[TopicPartition, ...] | None
    answer: asyncio.Future[dict[TopicPartition, ReplicaAssignment]]


class AlterIsrReceived(NamedTuple):
    """A leader requests new ISRs (KIP-497)."""

    broker_id: int
    broker_epoch: int
    wanted: Mapping[TopicPartition, LeaderAndIsr]
    answer: asyncio.Future[dict[TopicPartition, AlteredIsr]]


class LeaderAndIsrResponseReceived(NamedTuple):
    """A broker answered LeaderAndIsr.

    It may have found some replicas on a failed disk, and others alive again.
    """

    broker_id: int
    offline: tuple[TopicPartition, ...]
    online: tuple[TopicPartition, ...]


class TopicDeletionStopReplicaResponseReceived(NamedTuple):
    """A broker answered the request to delete replicas."""

    broker_id: int
    deleted: tuple[TopicPartition, ...]
    failed: tuple[TopicPartition, ...]


Asked = (
    ControlledShutdown
    | ReplicaLeaderElection
    | ApiPartitionReassignment
    | ListPartitionReassignments
    | AlterIsrReceived
)
"""Events whose `answer` a caller awaits."""

ControllerEvent = (
    Startup
    | ControllerChange
    | Reelect
    | Expire
    | RegisterBrokerAndReelect
    | UpdateBrokerInfo
    | BrokerChange
    | BrokerModifications
    | TopicChange
    | PartitionModifications
    | TopicDeletion
    | IsrChangeNotification
    | LogDirEventNotification
    | PreferredReplicaElection
    | AutoPreferredReplicaLeaderElection
    | ZkPartitionReassignment
    | PartitionReassignmentIsrChange
    | UncleanLeaderElectionEnable
    | TopicUncleanLeaderElectionEnable
    | ControlledShutdown
    | ReplicaLeaderElection
    | ApiPartitionReassignment
    | ListPartitionReassignments
    | AlterIsrReceived
    | LeaderAndIsrResponseReceived
    | TopicDeletionStopReplicaResponseReceived
)


def detail_of(event: ControllerEvent) -> str:
    """Return the subject of an event in a few words, for the trace."""
    match event:
        case PartitionModifications(topic) | TopicUncleanLeaderElectionEnable(topic):
            return topic
        case (
            BrokerModifications(broker_id)
            | ControlledShutdown(broker_id, _, _)
            | AlterIsrReceived(broker_id, _, _, _)
        ):
            return str(broker_id)
        case ReplicaLeaderElection(partitions, election_type, _):
            return f"{election_type.name.lower()} of {joined(partitions)}"
        case PartitionReassignmentIsrChange(tp):
            return str(tp)
        case ApiPartitionReassignment(wanted, _):
            return joined(wanted)
        case LeaderAndIsrResponseReceived(
            broker_id, _, _
        ) | TopicDeletionStopReplicaResponseReceived(broker_id, _, _):
            return str(broker_id)
    return ""
