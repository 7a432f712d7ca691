"""The event of each watch."""

import pytest

from kafka_edu.controller.controller_watches import event_of_watch
from kafka_edu.zk.zk_client import WatchedEvent, WatchType


@pytest.mark.parametrize(
    ("type_", "path", "name"),
    [
        (WatchType.DELETED, "/controller", "Reelect"),
        (WatchType.CREATED, "/controller", "ControllerChange"),
        (WatchType.CHILDREN_CHANGED, "/brokers/ids", "BrokerChange"),
        (WatchType.DATA_CHANGED, "/brokers/ids/3", "BrokerModifications"),
        (WatchType.DELETED, "/brokers/ids/3", "NoneType"),
        (WatchType.DATA_CHANGED, "/brokers/topics/t", "PartitionModifications"),
        (WatchType.CHILDREN_CHANGED, "/config/changes", "NoneType"),
    ],
)
def test_the_event_of_each_watch(type_: WatchType, path: str, name: str) -> None:
    assert type(event_of_watch(WatchedEvent(type_, path))).__name__ == name
