"""The jobs of chapter 18. Most of them play clusters in virtual time, and emit what they found.

    kill        kills a leader in virtual time
    same        plays a seed twice, once more while the brokers are watched, and another seed
    breaks      plays runs whose client breaks determinism
    explore     searches the seeds of a scenario for one that loses records, with a planted bug
    shrink      makes the schedule of that seed short
    fork        plays a short schedule with the bug, again, and without the bug
    sizes       sends small and large records, on this cluster and in virtual time

A job changes no topic but its own. So it may be repeated.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import SystemTime
from kafka_edu.trace.events.spark import JobStarted
from kafka_edu.trace.tracer import Tracer

from ..chapter import JobPlace
from . import kip101
from .broken_runs import RUNS, SEED, WORDS, both_runs, play_once
from .fact_trail import compared
from .two_latencies import LARGE, SMALL, measure, measure_in_virtual_time
from .virtual_kill import play_kill

JOBS: Final[Mapping[str, str]] = {
    "kill": "kill a leader in virtual time",
    "same": "play one seed again, another seed, and one seed while somebody looks",
    "breaks": "play runs whose client breaks determinism",
    "explore": "search the seeds of a scenario for one that loses records",
    "shrink": "make the schedule of that seed short",
    "fork": "play a short schedule with and without its bug",
    "sizes": "send small and large records, here and in virtual time",
}
#: Extra packages that the jobs need: none.
NEEDS: Final[tuple[str, ...]] = ()


@contextmanager
def open_jobs(place: JobPlace) -> Iterator[Callable[[str], None]]:
    """Yield the function that runs a job by its name."""
    jobs = SimulatorJobs(place)

    def run(name: str) -> None:
        place.emit(JobStarted(job=name))
        jobs.run(name)

    yield run


class SimulatorJobs:
    """The jobs of chapter 18 on one cluster."""

    def __init__(self, place: JobPlace) -> None:
        self._place = place
        self._found = kip101.Search(0, None)
        """The seed and the rule that the job `explore` has found."""
        self._programs: Mapping[str, Callable[[], None]] = {
            "kill": self._kill,
            "same": self._same,
            "breaks": self._breaks,
            "explore": self._explore,
            "shrink": self._shrink,
            "fork": self._fork,
            "sizes": self._sizes,
        }

    def run(self, name: str) -> None:
        """Run the job with this name to its end, or until another job waits."""
        self._programs[name]()

    def _kill(self) -> None:
        for event in play_kill():
            self._place.emit(event)

    def _same(self) -> None:
        first = play_once("sound").facts
        for what, other in (
            ("the same seed again", play_once("sound")),
            ("the same seed, and somebody looks", play_once("sound", watched=True)),
            ("another seed", play_once("sound", SEED + 1)),
        ):
            self._place.emit(compared(what, first, other.facts))

    def _breaks(self) -> None:
        for name in RUNS:
            if self._place.another_waits():
                return
            self._place.emit(compared(WORDS[name], *both_runs(name)))

    def _explore(self) -> None:
        self._found = kip101.explore(self._place.another_waits)
        self._place.emit(self._found.event())

    def _shrink(self) -> None:
        search = self._found if self._found.rule else kip101.explore(self._place.another_waits)
        if search.rule and not self._place.another_waits():
            scenario = kip101.read_scenario(kip101.FAILOVER)
            acts = kip101.schedule_of(scenario, search.seed)
            event, _ = kip101.shrink(scenario, search.seed, acts, search.rule)
            self._place.emit(event)

    def _fork(self) -> None:
        kip101.play_short.cache_clear()
        first = kip101.play_short(kip101.WITH)
        kip101.play_short.cache_clear()
        again, other = kip101.play_short(kip101.WITH), kip101.play_short(kip101.WITHOUT)
        parted = compared("the bug is taken out", first.trail.facts, other.trail.facts)
        self._place.emit(first.played())
        self._place.emit(compared("played again", first.trail.facts, again.trail.facts))
        self._place.emit(parted)
        for future in (first, other):
            for fact in future.story(parted.at_ms):
                self._place.emit(fact)
        self._place.emit(other.played())

    def _sizes(self) -> None:
        place = self._place

        async def real(trace: Tracer) -> None:
            for name, size in (("real-small", SMALL), ("real-large", LARGE)):
                servers = place.bootstrap_servers
                found = await measure(name, size, servers, SocketTransport(), SystemTime(), trace)
                place.emit(found)

        place.run(real)
        measure_in_virtual_time(place.emit)
