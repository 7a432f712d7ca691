"""What the controller watches in ZooKeeper, and which of its events each watch becomes (Kafka: the
ZNodeChangeHandlers of KafkaController; book 000 §6.4.1).

A watch fires once and names a path and a kind of change, no more. The event reads what there is now
and sets the watch again, in that order of sending, so that nothing is missed; several changes may
be found by one event.

Every broker watches /controller. The others are watched by the one in office only: before there was
a controller all brokers watched all of it (`kafka-edu demo watches` counts what that costs).
"""

from collections.abc import Callable, Mapping
from typing import Final

from kafka_edu.controller.controller_events import (
    BrokerChange,
    BrokerModifications,
    ControllerChange,
    ControllerEvent,
    IsrChangeNotification,
    LogDirEventNotification,
    PartitionModifications,
    PartitionReassignmentIsrChange,
    PreferredReplicaElection,
    Reelect,
    TopicChange,
    TopicDeletion,
    ZkPartitionReassignment,
)
from kafka_edu.zk.zk_client import WatchedEvent, WatchType
from kafka_edu.zk.zk_data import (
    BrokerIdZNode,
    ControllerZNode,
    DeleteTopicsTopicZNode,
    IsrChangeNotificationZNode,
    LogDirEventNotificationZNode,
    PreferredReplicaElectionZNode,
    ReassignPartitionsZNode,
    TopicPartitionStateZNode,
    TopicZNode,
    decode_number,
)

#: The children of these znodes are watched.
EVENT_OF_CHILDREN: Final[Mapping[str, Callable[[], ControllerEvent]]] = {
    BrokerIdZNode.PARENT: BrokerChange,
    TopicZNode.PARENT: TopicChange,
    DeleteTopicsTopicZNode.PARENT: TopicDeletion,
    IsrChangeNotificationZNode.PARENT: IsrChangeNotification,
    LogDirEventNotificationZNode.PARENT: LogDirEventNotification,
}


def event_of_watch(watched: WatchedEvent) -> ControllerEvent | None:
    """What a change of a znode is to the controller; None: nothing. Pure."""
    path = watched.path
    if path == ControllerZNode.PATH:
        return Reelect() if watched.type is WatchType.DELETED else ControllerChange()
    if watched.type is WatchType.CHILDREN_CHANGED:
        make = EVENT_OF_CHILDREN.get(path)
        return make() if make else None
    if path == PreferredReplicaElectionZNode.PATH:
        return PreferredReplicaElection()
    if path == ReassignPartitionsZNode.PATH:
        return ZkPartitionReassignment()
    if (
        watched.type is WatchType.DATA_CHANGED
        and (tp := TopicPartitionStateZNode.partition_of(path)) is not None
    ):
        return PartitionReassignmentIsrChange(tp)
    parent, _, name = path.rpartition("/")
    if watched.type is WatchType.DATA_CHANGED and parent == TopicZNode.PARENT:
        return PartitionModifications(name)
    broker_id = decode_number(name)
    if (
        watched.type is WatchType.DATA_CHANGED
        and parent == BrokerIdZNode.PARENT
        and broker_id is not None
    ):
        return BrokerModifications(broker_id)
    return None
