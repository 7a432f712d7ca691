"""A broker's replication, put together: its periodic work, and its end."""

from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.transport import Transport
from kafka_edu.log.log_config import LogConfig
from kafka_edu.replication.assembly import Replication
from kafka_edu.replication.high_watermark_checkpoints import (
    HIGH_WATERMARK_FILENAME,
    HighWatermarkCheckpoints,
)
from kafka_edu.replication.isr_writer import ISR_CHANGE_PROPAGATION_PERIOD_MS, IsrStore
from kafka_edu.replication.replication_quota_manager import make_replication_quotas
from kafka_edu.server.config.kafka_config import default_config
from kafka_edu.server.config.part_configs import replication_config
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.sim.sim_loop import SimLoop, SimTime
from kafka_edu.sim.stepped_cluster import LOG_DIR, open_log_manager

Result = TypeVar("Result")


class Schedule:
    """Keeps what is to be done, and how often."""

    def __init__(self) -> None:
        self.period_ms: dict[str, int] = {}

    def schedule(
        self,
        name: str,
        work: Callable[[], Awaitable[None] | None],
        *,
        delay_ms: int = 0,
        period_ms: int = -1,
    ) -> None:
        self.period_ms[name] = period_ms


async def at_once(work: Callable[[], Result]) -> Result:
    return work()


def test_its_periodic_work_has_kafkas_periods_and_its_end_writes_the_high_watermarks() -> None:
    loop = SimLoop()
    disk, time, schedule = MemoryFileSystem(), SimTime(loop), Schedule()
    disk.make_dirs(LOG_DIR)
    failed: list[str] = []
    replication = Replication(
        replication_config(default_config(), broker_id=0),
        time,
        cast("Transport", None),
        open_log_manager(disk, time),
        MetadataCache(0),
        cast("IsrStore", None),
        HighWatermarkCheckpoints([LOG_DIR], disk, at_once),
        lambda _: LogConfig.parse({}),
        make_replication_quotas(replication_config(default_config(), broker_id=0), time),
        lambda name, _: failed.append(name),
        at_once,
    )

    async def life() -> None:
        await replication.startup(schedule)
        replication.begin_shutdown()
        await replication.shutdown()

    loop.run_until_complete(life())
    lag_ms = default_config().replica_lag_time_max_ms
    assert schedule.period_ms == {
        "isr-expiration": lag_ms // 2,
        "isr-change-propagation": ISR_CHANGE_PROPAGATION_PERIOD_MS,
        "highwatermark-checkpoint": 5_000,
        "replication-throttles": 1_000,
    }
    assert failed == []
    assert not disk.exists(f"{LOG_DIR}/{HIGH_WATERMARK_FILENAME}"), "it has no partition"
