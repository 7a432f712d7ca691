"""The events that the controller works off, one after the other (Kafka: ControllerEvent and its
objects; book 000 §6.4.1, figure 6-14).

Watches, requests and timers all become one of these; `KafkaController` has one case for each. They
are plain values, but for `answer` of the five by which somebody waits: the asyncio future of who
asked, made and fulfilled by `KafkaController`. It rides on the event, for the queue may drop the
event unseen, and then must tell.
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
    """The broker is up: look who is the controller, or become it."""


class ControllerChange(NamedTuple):
    """/controller was created or written: if it was us and is not any more, resign. It may be gone
    again by the time it is looked at, and then only this tells us: run for it.
    """


class Reelect(NamedTuple):
    """/controller is gone: resign if it was us, and try to become it."""


class Expire(NamedTuple):
    """Our session is over, and /controller with it: resign at once."""


class RegisterBrokerAndReelect(NamedTuple):
    """There is a new session: the broker's znode must be made again, and there is an election."""


class UpdateBrokerInfo(NamedTuple):
    """This broker is advertised elsewhere from now on: write it into its znode, in office or
    not.
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
    """Leaders have changed ISRs: read them, and tell all brokers."""


class LogDirEventNotification(NamedTuple):
    """Brokers have lost log dirs: ask them which replicas were there."""


class PreferredReplicaElection(NamedTuple):
    """/admin/preferred_replica_election was written."""


class AutoPreferredReplicaLeaderElection(NamedTuple):
    """The timer of auto.leader.rebalance.enable has fired."""


class UncleanLeaderElectionEnable(NamedTuple):
    """This broker's unclean.leader.election.enable was switched on: it holds for all topics that do
    not say otherwise.
    """


class TopicUncleanLeaderElectionEnable(NamedTuple):
    """A topic's unclean.leader.election.enable is on, or another of its configs was changed while
    it is.
    """

    topic: str


class ZkPartitionReassignment(NamedTuple):
    """/admin/reassign_partitions was written, or is gone."""


class PartitionReassignmentIsrChange(NamedTuple):
    """The state of a partition that is being reassigned was written: maybe a new replica has caught
    up. Others that are noted by then are meant too.
    """

    topic_partition: TopicPartition


class ControlledShutdown(NamedTuple):
    """A broker asks to go. `answer` gets the partitions that it still leads, or the error."""

    broker_id: int
    broker_epoch: int
    answer: asyncio.Future[list[TopicPartition]]


class ReplicaLeaderElection(NamedTuple):
    """Somebody asks for elections. `answer` gets what came of each partition, or the error."""

    partitions: tuple[TopicPartition, ...]
    election_type: ElectionType
    answer: asyncio.Future[dict[TopicPartition, ElectionResult]]


class ApiPartitionReassignment(NamedTuple):
    """Somebody wishes partitions on other brokers; None: as before."""

    wanted: Mapping[TopicPartition, Sequence[int] | None]
    answer: asyncio.Future[dict[TopicPartition, ReassignmentResult]]


class ListPartitionReassignments(NamedTuple):
    """Somebody wants to know which of these partitions (None: of all) are being reassigned."""

    partitions: tuple[TopicPartition, ...] | None
    answer: asyncio.Future[dict[TopicPartition, ReplicaAssignment]]


class AlterIsrReceived(NamedTuple):
    """A leader asks for new ISRs (KIP-497)."""

    broker_id: int
    broker_epoch: int
    wanted: Mapping[TopicPartition, LeaderAndIsr]
    answer: asyncio.Future[dict[TopicPartition, AlteredIsr]]


class LeaderAndIsrResponseReceived(NamedTuple):
    """A broker answered; it may have found some replicas on a dead disk, and others alive again."""

    broker_id: int
    offline: tuple[TopicPartition, ...]
    online: tuple[TopicPartition, ...]


class TopicDeletionStopReplicaResponseReceived(NamedTuple):
    """A broker answered the order to delete replicas."""

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
"""Events by which somebody waits for an answer."""

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
    """What an event is about, in a word or two, for those who watch."""
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
