"""The events that the controller processes, one after the other.

(Kafka: ControllerEvent and its objects; book 000 §6.4.1, figure 6-14.) Watches, requests and timers
all become one of these events; `KafkaController` has one case for each. The events are plain
values, except that five of them have an `answer`. An `answer` is an asyncio future that the caller
awaits; `KafkaController` creates and completes it. The future is part of the event, because the
queue may drop an event unprocessed and must then make the future fail.

Next: `ControllerEventManager.put` (controller_event_manager.py) queues an event.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_edu.cluster.broker import EndPoint
from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.words import joined
from kafka_edu.controller.isr_alterations import AlteredIsr
from kafka_edu.controller.partition_reassignment_plan import ReassignmentResult
from kafka_edu.controller.requested_elections import ElectionResult, ElectionType
from kafka_edu.zk.zk_data import ReplicaAssignment


class Startup(NamedTuple):
    """This broker has started: read /controller, and run for election if there is no controller."""


class ControllerChange(NamedTuple):
    """/controller was created or written: this broker resigns if the znode names another broker.

    The znode may be gone again when this broker reads it. No other event follows in that case, so
    this event also leads to an election.
    """


class Reelect(NamedTuple):
    """/controller was deleted: resign if this broker was the controller, and run for election."""


class Expire(NamedTuple):
    """This broker's ZooKeeper session has expired, and /controller with it: resign at once."""


class RegisterBrokerAndReelect(NamedTuple):
    """A new ZooKeeper session has begun: create this broker's znode again, run for election."""


class UpdateBrokerInfo(NamedTuple):
    """This broker has new advertised addresses: write them into its znode.

    Every broker processes this event, not only the active controller.
    """

    end_points: tuple[EndPoint, ...]


class BrokerChange(NamedTuple):
    """The children of /brokers/ids have changed: a broker has started or is gone."""


class BrokerModifications(NamedTuple):
    """A broker wrote other listeners into its znode."""

    broker_id: int


class TopicChange(NamedTuple):
    """The children of /brokers/topics have changed: a topic was added or deleted."""


class PartitionModifications(NamedTuple):
    """The assignment in a topic's znode was written; the topic may have more partitions now."""

    topic: str


class TopicDeletion(NamedTuple):
    """The children of /admin/delete_topics have changed."""


class IsrChangeNotification(NamedTuple):
    """Leaders have changed ISRs: read the ISRs, and send them to all brokers."""


class LogDirEventNotification(NamedTuple):
    """Brokers have lost log dirs: find out which replicas were in them."""


class PreferredReplicaElection(NamedTuple):
    """/admin/preferred_replica_election was written: hold the requested elections."""


class AutoPreferredReplicaLeaderElection(NamedTuple):
    """The rebalance timer has fired (auto.leader.rebalance.enable)."""


class UncleanLeaderElectionEnable(NamedTuple):
    """This broker's unclean.leader.election.enable was switched on.

    The value holds for all topics that do not set the key themselves.
    """


class TopicUncleanLeaderElectionEnable(NamedTuple):
    """A topic's unclean.leader.election.enable is true.

    Either it was set just now, or another config of the topic has changed.
    """

    topic: str


class ZkPartitionReassignment(NamedTuple):
    """/admin/reassign_partitions was written or deleted."""


class PartitionReassignmentIsrChange(NamedTuple):
    """The state znode of a partition that is being reassigned was written.

    A new replica may have caught up. One event covers all such partitions whose watches fired
    before the event is processed.
    """

    topic_partition: TopicPartition


class ControlledShutdown(NamedTuple):
    """A broker wants to shut down. `answer` gets the partitions that the broker still leads."""

    broker_id: int
    broker_epoch: int
    answer: asyncio.Future[list[TopicPartition]]


class ReplicaLeaderElection(NamedTuple):
    """A client requests elections. `answer` gets each partition's result, or one error for all."""

    partitions: tuple[TopicPartition, ...]
    election_type: ElectionType
    answer: asyncio.Future[dict[TopicPartition, ElectionResult]]


class ApiPartitionReassignment(NamedTuple):
    """A client requests to move partitions to other brokers.

    For each partition, `wanted` has the ids of its future brokers, or None. None cancels the
    partition's reassignment.
    """

    wanted: Mapping[TopicPartition, Sequence[int] | None]
    answer: asyncio.Future[dict[TopicPartition, ReassignmentResult]]


class ListPartitionReassignments(NamedTuple):
    """A client requests the list of partitions that are being reassigned.

    Only the reassignments of `partitions` are listed; None means all.
    """

    partitions: tuple[TopicPartition, ...] | None
    answer: asyncio.Future[dict[TopicPartition, ReplicaAssignment]]


class AlterIsrReceived(NamedTuple):
    """A leader requests new ISRs (KIP-497)."""

    broker_id: int
    broker_epoch: int
    wanted: Mapping[TopicPartition, LeaderAndIsr]
    answer: asyncio.Future[dict[TopicPartition, AlteredIsr]]


class LeaderAndIsrResponseReceived(NamedTuple):
    """A broker has responded to LeaderAndIsr.

    `offline` are the partitions whose replica is on a failed disk; `online` are those without
    error.
    """

    broker_id: int
    offline: tuple[TopicPartition, ...]
    online: tuple[TopicPartition, ...]


class TopicDeletionStopReplicaResponseReceived(NamedTuple):
    """A broker has responded to StopReplica with delete.

    `deleted` are the partitions whose replicas the broker has deleted. `failed` are the partitions
    whose replicas it could not delete.
    """

    broker_id: int
    deleted: tuple[TopicPartition, ...]
    failed: tuple[TopicPartition, ...]


AnsweredEvent = (
    ControlledShutdown
    | ReplicaLeaderElection
    | ApiPartitionReassignment
    | ListPartitionReassignments
    | AlterIsrReceived
)
"""The types of the events that have an `answer` for which a caller waits."""

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
    """Return what an event is about, in a few words for the trace; for example a topic's name."""
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
