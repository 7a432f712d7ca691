"""One broker with three log dirs in memory, whose replicas move between them.

Everything is real except the network: the log manager, the partitions, the controller's orders as
they arrive, and the copying task. Workers run on the loop.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.common.turns import at_once
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_manager import LogManager, LogManagerSettings
from kafka_edu.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)
from kafka_edu.record.memory_records import read_all
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.replication.high_watermark_checkpoints import HighWatermarkCheckpoints
from kafka_edu.replication.isr_writer import IsrUpdates
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partitions import Partitions
from kafka_edu.replication.replica_alter_log_dirs_manager import ReplicaAlterLogDirsManager
from kafka_edu.replication.replica_log_dirs import ReplicaLogDirs
from kafka_edu.replication.replica_logs import ReplicaLogs
from kafka_edu.replication.replica_manager import ReplicaManager
from kafka_edu.replication.replication_quota_manager import make_replication_quotas
from kafka_edu.server.config.kafka_config import default_config
from kafka_edu.server.config.part_configs import replication_config
from kafka_edu.sim.memory_file_system import MemoryFileSystem, SimulatedCrash
from kafka_edu.trace.event import Event, Source
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from tests.defaults import PRODUCER_ID_EXPIRATION_MS
from tests.unit.log.test_log_manager import StillTime, inline
from tests.waiting import PATIENCE_S

T = TopicPartition("t", 0)
DIRS = ("/a", "/b", "/c")
SETTINGS = {"segment.bytes": "2000", "segment.index.bytes": "480", "file.delete.delay.ms": "0"}
ME = 0
Result = TypeVar("Result")


class NoFetchers:
    """This broker follows nobody: tests append in place of a leader."""

    def add_fetcher_for_partitions(self, *_: object) -> None: ...

    def remove_fetcher_for_partitions(self, *_: object) -> None: ...

    def shutdown_idle_fetcher_threads(self) -> None: ...


class Broker:
    def __init__(
        self,
        disk: MemoryFileSystem,
        settings: dict[str, str] | None = None,
        *,
        failed: dict[str, OSError] | None = None,
        run_blocking: Callable[..., Any] = inline,
        fetch_max_bytes: int = 200,
    ) -> None:
        self.disk = disk
        self.time = StillTime()
        self.trace = Tracer(Source.of_broker(ME), self.time)
        self.ring = RingSink()
        self.trace.add_sink(self.ring)
        self.config = LogConfig.parse({**SETTINGS, **(settings or {})})
        self.bugs: list[BaseException] = []
        self.logs = LogManager(
            LogManagerSettings(DIRS, self.config, 1, PRODUCER_ID_EXPIRATION_MS),
            disk,
            self.time,
            run_blocking,
            self.trace,
            failed_log_dirs=failed,
            on_log_dir_failure=self._dir_failed,
            on_failure=self._bug,
        )
        cache = MetadataCache(ME)
        self.partitions = Partitions(cache, self.logs, self.trace)
        self.checkpoints = HighWatermarkCheckpoints(list(DIRS), disk, run_blocking, self.trace)
        replica_logs = ReplicaLogs(self.logs, self.checkpoints, lambda _: self.config)
        config = replication_config(default_config(), broker_id=ME)._replace(
            replica_fetch_max_bytes=fetch_max_bytes
        )
        self.quotas = make_replication_quotas(config, self.time)
        self.moves = ReplicaAlterLogDirsManager(
            config,
            self.time,
            self.logs,
            self.partitions,
            self.quotas.log_dirs,
            run_blocking,
            self._bug,
            self.trace,
        )
        self.dirs = ReplicaLogDirs(self.partitions, self.logs, replica_logs, self.moves)
        self.manager = ReplicaManager(
            config,
            self.time,
            cache,
            self.partitions,
            IsrUpdates(self.partitions, self.time),
            replica_logs,
            NoFetchers(),
            self.moves,
            lambda _: None,
            self.quotas,
            self.trace,
        )
        self.epoch = 0

    def _dir_failed(self, log_dir: str, _: OSError, lost: Sequence[TopicPartition]) -> None:
        for tp in lost:
            self.partitions.take_offline(tp)

    def _bug(self, _: str, error: BaseException) -> None:
        if not isinstance(error, SimulatedCrash):
            self.bugs.append(error)

    async def start(self, *, leader: int = ME, in_dir: str = "/a") -> None:
        """Load the logs on the disk. Then a LeaderAndIsr request makes this broker leader or
        follower.
        """
        for log_dir in DIRS:
            self.disk.make_dirs(log_dir)
        await self.logs.load_logs()
        if self.logs.get_log(T) is None:
            self.logs.prefer_log_dir(T, in_dir)
        await self.elect(leader)

    async def elect(self, leader: int = ME, epoch: int | None = None) -> LeaderAndIsrResponse:
        """A LeaderAndIsr request arrives."""
        self.epoch = self.epoch + 1 if epoch is None else epoch
        state = LeaderAndIsrPartitionState(
            partition_index=T.partition,
            controller_epoch=1,
            leader=leader,
            leader_epoch=self.epoch,
            isr=[leader],
            zk_version=self.epoch,
            replicas=[ME, 1],
            is_new=False,
        )
        topic = LeaderAndIsrTopicState(topic_name=T.topic, partition_states=[state])
        request = LeaderAndIsrRequest(controller_id=1, controller_epoch=1, topic_states=[topic])
        request = LeaderAndIsrRequest.decode(request.encode(4), 4)
        orders = self.manager.controller_orders
        new = orders.new_logs(request)
        if new:
            orders.logs_refused(await self.logs.create_logs(new))
        return at_once(orders.become_leader_or_follower(request, 4))

    @property
    def partition(self) -> Partition:
        partition = self.partitions.get(T)
        assert partition is not None
        return partition

    @property
    def log(self) -> Log:
        return self.partition.local_log()

    def produce(self, *values: str, producer_id: int = -1, sequence: int = -1) -> int:
        """Append one batch as the leader; return its first offset."""
        batch = build_batch(
            [Record(i, 5, None, value.encode()) for i, value in enumerate(values)],
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence,
        )
        info, _ = self.partition.append_records_to_leader(
            batch, 1, self.time.hi_res_clock_ms(), self.time.milliseconds()
        )
        return info.first_offset

    def fill(self, batches: int = 40) -> list[str]:
        values = [f"value {number} {'.' * 40}" for number in range(batches)]
        for value in values:
            self.produce(value)
        return values

    def values(self, log: Log | None = None) -> list[str]:
        """Return the values of all records of the log. One read returns records of one segment
        only, so the log is read until its end.
        """
        log = log or self.log
        found: list[str] = []
        offset = log.log_start_offset
        while offset < log.log_end_offset:
            records = read_all(part_bytes(log.read(offset, 1 << 20, min_one_message=True).records))
            found += [bytes(r.value or b"").decode() for r in records if r.offset >= offset]
            offset = max(r.offset for r in records) + 1
        return found

    async def order(self, log_dir: str, tp: TopicPartition = T) -> Errors:
        return (await self.dirs.alter({tp: log_dir}))[tp]

    async def until(self, done: Callable[[], bool]) -> None:
        """Let tasks run until `done`; time stands still."""
        for _ in range(20_000):
            if done() or self.disk.crashed:
                return
            await asyncio.sleep(0)
        raise AssertionError("it never comes to that")

    async def moved(self, log_dir: str) -> None:
        """Wait until the replica is in this dir and the folder in the old dir is gone."""
        await self.until(lambda: self.log.log_dir == log_dir)
        await self.until(lambda: self.folders() == [f"{log_dir}/{T}"])

    def folders(self) -> list[str]:
        """Return the folders of all logs, as dir/name. In a name such as t-0.ID-delete, the unique
        part .ID is left out.
        """
        return [
            f"{log_dir}/{name.partition('.')[0]}{name[-7:] if '.' in name else ''}"
            for log_dir in DIRS
            for name in self.disk.list(log_dir)
            if self.disk.is_dir(f"{log_dir}/{name}")
        ]

    def told(self, kind: type[Event]) -> list[Any]:
        return [e.event for e in self.ring.events if isinstance(e.event, kind)]

    async def stop(self) -> None:
        await self.moves.shutdown()
        await self.checkpoints.write(self.partitions, self.logs.handle_log_dir_failure)
        await self.logs.shutdown()


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        with contextlib.suppress(SimulatedCrash):
            await asyncio.wait_for(scenario(), PATIENCE_S)

    asyncio.run(main())


__all__ = ["DIRS", "Broker", "KafkaException", "T", "run"]
