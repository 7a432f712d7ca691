"""Real logs, on a disk in memory."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Final, ParamSpec, TypeVar

from kafka_edu.common.files import FileSystem
from kafka_edu.common.time import Time
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_manager import LogManager
from tests.defaults import BROKER_DEFAULTS, PRODUCER_ID_EXPIRATION_MS

LOG_DIR: Final = "/data"
T = TypeVar("T")
P = ParamSpec("P")


def in_loop(test: Callable[P, None]) -> Callable[P, None]:
    """Run a synchronous test inside an event loop: the log manager starts a task when it has
    something to remove from the disk.
    """

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def main() -> None:
            test(*args, **kwargs)

        asyncio.run(main())

    return run


async def _now(call: Callable[[], T]) -> T:
    return call()


def run_now(call: Callable[[], T], /) -> Awaitable[T]:
    """A worker that is not one."""
    return _now(call)


def log_config(min_isr: int = 1) -> LogConfig:
    return LogConfig.parse({"min.insync.replicas": min_isr, "segment.index.bytes": 4096})


class _LogManagerWithoutWorkers(LogManager):
    """A log manager that needs no event loop. No worker ever writes a file of leader epochs, so a
    restart finds epochs in the batches only.
    """

    def write_leader_epochs(self) -> None:
        pass


def open_log_manager(file_system: FileSystem, time: Time, min_isr: int = 1) -> LogManager:
    """A log manager that has loaded nothing yet: it opens a log that is on the disk when it is
    asked to create it.
    """
    return _LogManagerWithoutWorkers(
        [LOG_DIR],
        file_system,
        time,
        log_config(min_isr),
        run_now,
        recovery_threads_per_data_dir=BROKER_DEFAULTS.num_recovery_threads_per_data_dir,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )
