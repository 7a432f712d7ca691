"""Events that many tests need, with common values. `_replace` changes single values."""

from typing import Final

from kafka_edu.trace.event import Source
from kafka_edu.trace.events.controller import LeaderElected
from kafka_edu.trace.events.supervisor import ProcessEnded, ProcessSnapshot
from kafka_edu.trace.events.zk import ZnodeSnapshot

ELECTED: Final = LeaderElected(
    topic="web",
    partition=0,
    strategy="OfflinePartition",
    replicas=(1, 2, 0),
    isr_before=(1, 2, 0),
    live=(0, 2),
    old_leader=1,
    new_leader=2,
    isr=(2, 0),
    leader_epoch=8,
    unclean=False,
    controller_epoch=4,
    zk_path="/x",
    zk_version=4,
)
"""Broker 1 is gone, and 2 leads web-0 in its place."""


def killed(broker: int) -> ProcessEnded:
    """Return the event that a broker's process was ended by kill -9, as somebody had asked."""
    return ProcessEnded(
        process=f"broker-{broker}",
        child=Source.of_broker(broker),
        pid=100 + broker,
        code=-9,
        signal="SIGKILL",
        asked=True,
    )


def runs(broker: int) -> ProcessSnapshot:
    """Return a broker's process as it appears in the supervisor's snapshot."""
    return ProcessSnapshot(
        process=f"broker-{broker}",
        child=Source.of_broker(broker),
        state="running",
        pid=100 + broker,
        port=9092 + broker,
    )


def znode(path: str, data: str = "") -> ZnodeSnapshot:
    """Return a znode in a snapshot, which has not changed since its creation and has no
    children.
    """
    return ZnodeSnapshot(
        path=path,
        czxid=0,
        mzxid=0,
        version=0,
        ephemeral_owner=0,
        data_length=len(data),
        num_children=0,
        data=data,
    )
