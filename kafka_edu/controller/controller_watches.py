"""The controller's watches in ZooKeeper, and the event that each watch becomes.

(Kafka: the ZNodeChangeHandlers of KafkaController; book 000 §6.4.1.) A watch fires once, and names
only a path and a kind of change. So the controller reads the current state when it processes the
event. The controller sets the watch again together with that read, or just before. So it misses no
change. One event may cover several changes.

Every broker watches /controller. Only the active controller watches the other znodes of this
module. Before Kafka had a controller, all brokers watched all these znodes (`kafka-edu demo
watches` shows the cost).

Next: `KafkaController.on_watch` (kafka_controller.py) queues the event.
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

#: Path of a znode whose children are watched → the event for a change of its children.
EVENT_OF_CHILDREN: Final[Mapping[str, Callable[[], ControllerEvent]]] = {
    BrokerIdZNode.PARENT: BrokerChange,
    TopicZNode.PARENT: TopicChange,
    DeleteTopicsTopicZNode.PARENT: TopicDeletion,
    IsrChangeNotificationZNode.PARENT: IsrChangeNotification,
    LogDirEventNotificationZNode.PARENT: LogDirEventNotification,
}


def event_of_watch(watched: WatchedEvent) -> ControllerEvent | None:
    """Return the event for the change of a znode; None if the controller need not react. Pure."""
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
