"""Measure each broker's memory and open files over time, and check whether the memory stays flat.

Flat means: the median of the last third of a broker process's life is at most 3 % above the median
of its second third. The first third is the warm-up. Only a process that runs for ten minutes or
more can show this. Therefore there is one broker that the soak never kills.
"""

import os
import statistics
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.supervisor.child_process import rss_anon

FLAT_GROWTH_PERCENT: Final = 3.0
SHOWS_FROM_S: Final = 600.0
SAMPLE_EVERY_S: Final = 1.0
KEPT_SAMPLES: Final = 120
"""The maximum number of samples of one process in the state file.

They are evenly spread in time.
"""


class Sample(NamedTuple):
    """One measurement of a broker process."""

    at_s: float
    """Time of the measurement in seconds since this part of the soak began."""
    rss_anon_mb: float
    file_handles: int


class Life(NamedTuple):
    """The samples of one broker process, from its start to its end."""

    broker: int
    pid: int
    samples: tuple[Sample, ...]

    @property
    def seconds(self) -> float:
        return self.samples[-1].at_s - self.samples[0].at_s if self.samples else 0.0


class Trend(NamedTuple):
    """How the memory and the open files of one process changed over time."""

    broker: int
    minutes: float
    first_mb: float
    median_second_third_mb: float
    median_last_third_mb: float
    highest_mb: float
    growth_percent: float
    """The growth of the median from the second third to the last third, in percent."""
    slope_mb_per_hour: float
    """Slope of a least-squares line through the last two thirds of the samples."""
    file_handles_second_third: float
    file_handles_last_third: float
    file_handles_highest: int


def trend(life: Life) -> Trend | None:
    """Return the trend of a broker process, or None if it has fewer than six samples."""
    samples = life.samples
    if len(samples) < 6:
        return None
    third = len(samples) // 3
    second, last = samples[third : 2 * third], samples[2 * third :]
    before, after = (
        statistics.median(sample.rss_anon_mb for sample in part) for part in (second, last)
    )
    handles_before, handles_after = (
        statistics.median(sample.file_handles for sample in part) for part in (second, last)
    )
    return Trend(
        broker=life.broker,
        minutes=round(life.seconds / 60, 1),
        first_mb=round(samples[0].rss_anon_mb, 1),
        median_second_third_mb=round(before, 1),
        median_last_third_mb=round(after, 1),
        highest_mb=round(max(sample.rss_anon_mb for sample in samples), 1),
        growth_percent=round((after / before - 1) * 100, 2) if before else 0.0,
        slope_mb_per_hour=round(_slope((*second, *last)) * 3600, 2),
        file_handles_second_third=handles_before,
        file_handles_last_third=handles_after,
        file_handles_highest=max(sample.file_handles for sample in samples),
    )


def _slope(samples: Sequence[Sample]) -> float:
    try:
        return statistics.linear_regression(
            [s.at_s for s in samples], [s.rss_anon_mb for s in samples]
        ).slope
    except statistics.StatisticsError:
        return 0.0


def thinned(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """Return at most KEPT_SAMPLES of the samples, evenly spread.

    The last sample is always included.
    """
    step = max(-(-len(samples) // KEPT_SAMPLES), 1)
    return tuple(samples[::-1][::step][::-1])


def file_handles(pid: int) -> int | None:
    """Return the number of open file descriptors of a process, or None if it is unknown."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None


class MemorySampler:
    """Measure each broker's process once a second, in a thread.

    `pids` maps each broker's id to the id of its current process.
    """

    def __init__(self, pids: Mapping[int, int]) -> None:
        self._pids = pids
        self._began = time.monotonic()
        self._samples: dict[tuple[int, int], list[Sample]] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="soak-memory", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def lives(self) -> list[Life]:
        """Return all broker processes that have been measured so far."""
        with self._lock:
            return [
                Life(broker, pid, tuple(samples))
                for (broker, pid), samples in self._samples.items()
            ]

    def _run(self) -> None:
        while not self._stop.wait(SAMPLE_EVERY_S):
            for broker, pid in list(self._pids.items()):
                memory, handles = rss_anon(pid), file_handles(pid)
                if memory is not None and handles is not None:
                    sample = Sample(
                        round(time.monotonic() - self._began, 1), round(memory / 2**20, 2), handles
                    )
                    with self._lock:
                        self._samples.setdefault((broker, pid), []).append(sample)
