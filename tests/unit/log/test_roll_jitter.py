"""segment.jitter.ms: if many logs begin their segments at the same time, they do not all roll at
the same time (Kafka: LogSegment.rollJitterMs).
"""

import asyncio
from random import Random

import pytest

from kafka_edu.common.time import MockTime
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.log.log_manager import LogManager, LogManagerSettings
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from tests.defaults import BROKER_DEFAULTS, PRODUCER_ID_EXPIRATION_MS

NOW = 1_600_000_000_000
SEGMENT_MS = 1000


class Fixed(Random):
    """A random generator that returns the given numbers and keeps the lower bound of each call."""

    def __init__(self, *draws: int) -> None:
        super().__init__(0)
        self.draws, self.bounds = list(draws), list[int]()

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        self.bounds.append(start)
        return self.draws.pop(0)


def open_log(jitter_ms: int, random: Random | None) -> Log:
    config = LogConfig.parse(
        {
            "segment.ms": str(SEGMENT_MS),
            "segment.jitter.ms": str(jitter_ms),
            "segment.index.bytes": "1000",
        }
    )
    log, _ = load_log(
        TopicPartition("t", 0),
        "/d",
        "/d/t-0",
        MemoryFileSystem(),
        config,
        now_ms=NOW,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )
    if random is not None:
        log.jitter_rolls(random)
    return log


def append(log: Log, at_ms: int) -> int:
    """Append a record with this time. Return how many segments there are."""
    log.append_as_leader(build_batch([Record(0, NOW + at_ms, None, b"v", ())]), 0, NOW + at_ms)
    return len(log.segments)


def test_each_segment_rolls_earlier_by_a_jitter_of_its_own() -> None:
    random = Fixed(300, 0)
    log = open_log(400, random)
    assert [append(log, 0), append(log, 700)] == [1, 1]
    assert append(log, 701) == 2, "700 ms is segment.ms less the jitter"
    assert [append(log, 1401), append(log, 1701)] == [2, 2], "the second segment drew no jitter"
    random.draws.append(7)
    assert append(log, 1702) == 3
    assert random.bounds == [400, 400, 400]


def test_the_jitter_is_below_segment_ms_too() -> None:
    random = Fixed(0)
    open_log(5000, random)
    assert random.bounds == [SEGMENT_MS]


@pytest.mark.parametrize(("jitter_ms", "random"), [(0, Fixed()), (400, None)])
def test_without_a_jitter_nothing_is_drawn(jitter_ms: int, random: Random | None) -> None:
    log = open_log(jitter_ms, random)
    assert [append(log, 0), append(log, 1000), append(log, 1001)] == [1, 1, 2]


def test_the_log_manager_hands_its_random_to_every_log() -> None:
    """Logs that are loaded and new logs get the random generator. log.roll.jitter.ms reaches a log
    as its topic's segment.jitter.ms (tested in test_kafka_config).
    """

    async def inline(work):  # type: ignore[no-untyped-def]
        return work()

    async def body() -> list[int]:
        random = Fixed(11, 22, 33)
        config = LogConfig.parse({"segment.jitter.ms": "400", "segment.index.bytes": "1000"})
        disk = MemoryFileSystem()
        for _ in range(2):
            logs = LogManager(
                LogManagerSettings(
                    ("/d",),
                    config,
                    BROKER_DEFAULTS.num_recovery_threads_per_data_dir,
                    PRODUCER_ID_EXPIRATION_MS,
                ),
                disk,
                MockTime(),
                inline,
                random=random,
            )
            await logs.load_logs()
            logs.get_or_create_log(TopicPartition("t", 0), config)
            await logs.shutdown()
        return random.draws

    assert asyncio.run(body()) == [33]
