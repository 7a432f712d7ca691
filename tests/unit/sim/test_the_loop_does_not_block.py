"""The disk calls that a broker makes on its loop, each with its reason. Worker threads make all
other disk calls.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafka_edu.sim.memory_file_system import MemoryFile, MemoryFileSystem
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.slow_disk import SlowDisk

T = TypeVar("T")

BLOCKING = (
    (MemoryFile, "flush"),
    (MemoryFile, "truncate"),
    (MemoryFileSystem, "open"),
    (MemoryFileSystem, "write_atomically"),
    (MemoryFileSystem, "rename"),
    (MemoryFileSystem, "remove"),
    (MemoryFileSystem, "remove_tree"),
    (MemoryFileSystem, "make_dirs"),
    (MemoryFileSystem, "list"),
)
NOT_THE_CALLER = ("sim.memory_file_system", "log.checkpoint_file", "log.offset_checkpoint_file")

#: (call, caller) → the reason for making it on the loop.
ROLL = (
    "the record that does not fit any more waits for the new segment, as in Kafka; once in"
    " log.segment.bytes"
)
CUT = (
    "the follower may not append before its log is cut; once in an epoch, and only where it had"
    " diverged"
)
ALLOWED: dict[tuple[str, str], str] = {
    (
        "list",
        "log.producer_state_manager.snapshot_offsets",
    ): "truncation drops the snapshots of what goes",
    ("open", "log.log_segment.__init__"): ROLL,
    ("open", "log.abstract_index.resize"): ROLL,
    ("truncate", "log.abstract_index.resize"): ROLL,
    (
        "open",
        "log.abstract_index._back",
    ): (
        "an index takes room on the disk a page at a time (4 KiB, some 512 entries), so that a full"
        " disk is an error and no SIGBUS"
    ),
    ("open", "log.producer_state_manager.take_snapshot"): ROLL,
    ("truncate", "log.producer_state_manager.take_snapshot"): ROLL,
    ("rename", "log.producer_state_manager.take_snapshot"): ROLL,
    ("write_atomically", "log.producer_state_manager.take_snapshot"): ROLL,
    ("rename", "log.log_segment.change_suffix"): CUT,
    ("truncate", "log.log_segment.truncate_to"): CUT,
}


class _Audit:
    """Notes the blocking calls made on the loop, by their callers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.found: dict[tuple[str, str], int] = {}
        self.flushed_by_workers = 0
        self._in_worker = False
        self._on = False
        for cls, name in BLOCKING:
            monkeypatch.setattr(cls, name, self._noted(getattr(cls, name), name))
        run_blocking = SlowDisk.run_blocking
        monkeypatch.setattr(
            SlowDisk, "run_blocking", lambda disk, work: run_blocking(disk, self._by_worker(work))
        )

    def _by_worker(self, work: Callable[[], T]) -> Callable[[], T]:
        def run() -> T:
            self._in_worker = True
            try:
                return work()
            finally:
                self._in_worker = False

        return run

    def _noted(self, call: Any, name: str) -> Any:
        def noted(*arguments: Any, **named: Any) -> Any:
            if self._in_worker:
                self.flushed_by_workers += name == "flush"
            elif self._on:
                key = name, _caller()
                self.found[key] = self.found.get(key, 0) + 1
            return call(*arguments, **named)

        return noted

    @contextmanager
    def on(self) -> Iterator[None]:
        self._on = True
        try:
            yield
        finally:
            self._on = False


def _caller() -> str:
    """Return the innermost function of the broker's own code. Simple file helpers do not count."""
    frame = sys._getframe(2)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", "")).removeprefix("kafka_edu.")
        if (
            str(frame.f_globals.get("__name__", "")).startswith("kafka_edu.")
            and module not in NOT_THE_CALLER
        ):
            return f"{module}.{frame.f_code.co_name}"
        frame = frame.f_back  # type: ignore[assignment]
    return "?"


def test_the_broker_calls_the_disk_on_its_loop_only_where_it_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    audit = _Audit(monkeypatch)
    cluster = SimCluster(
        9,
        (1, 2, 3),
        {
            "log.segment.bytes": "300",
            "log.retention.bytes": "900",
            "log.retention.check.interval.ms": "2000",
        },
    )
    cluster.start_all()
    client = SimClient(cluster)
    with audit.on():
        assert cluster.run_as(client.process, client.create_topic("t", 2, 3)) is Errors.NONE
        assert cluster.run_as(client.process, client.create_topic("gone", 2, 3)) is Errors.NONE
        for number in range(40):  # load; segments roll, and old ones are deleted
            for tp in (TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("gone", 0)):
                client.produce(tp, f"{number}", -1)
            cluster.advance(200)
        leader = cluster.run_as(client.process, client.leader_of(TopicPartition("t", 0)))
        follower = leader % 3 + 1
        for broker in (
            follower,
            (leader + 1) % 3 + 1,
        ):  # the leader's last segments reach nobody: it truncates when it comes back
            cluster.cut(leader, broker)
        for number in range(8):
            client.produce(TopicPartition("t", 0), f"lost {number}", 1)
        cluster.advance(300)
        cluster.pause(leader)
        cluster.advance(30_000)
        client.produce(TopicPartition("t", 0), "kept", -1)
        cluster.advance(2000)
        for broker in (follower, (leader + 1) % 3 + 1):
            cluster.mend(leader, broker)
        cluster.resume(leader)
        cluster.advance(70_000)  # checkpoints, flushes, retention

        async def delete() -> int:
            for broker_id in cluster.brokers:
                connection = NetworkClient(cluster.network.transport(), "admin")
                await connection.connect("127.0.0.1", cluster.port(broker_id), 1000)
                answer = await connection.ask(
                    DeleteTopicsRequest(topic_names=["gone"], timeout_ms=5000),
                    3,
                    DeleteTopicsResponse,
                    20_000,
                )
                connection.close()
                if answer.responses[0].error_code == Errors.NONE:
                    return broker_id
            return -1

        assert cluster.run_as(client.process, delete(), 60_000) > 0
        cluster.advance(70_000)
        cluster.stop(follower)
    assert audit.flushed_by_workers > 0
    assert {call: count for call, count in audit.found.items() if call not in ALLOWED} == {}
    assert set(ALLOWED) <= set(audit.found), (
        "what is allowed and not needed any more goes from the list"
    )
    cluster.close()
