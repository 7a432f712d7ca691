"""Play scenarios with many seeds, on several cores."""

import gc
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import cache
from importlib import resources
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any, Final, NamedTuple

from kafka_edu.sim.planted_faults import planted
from kafka_edu.sim.scenario.checker import Violation
from kafka_edu.sim.scenario.language import Scenario
from kafka_edu.sim.scenario.scenario_run import play
from kafka_edu.sim.sim_cluster import silent_brokers

PLAYED: Final = (
    "common",
    "trace",
    "protocol",
    "record",
    "timer",
    "purgatory",
    "cluster",
    "log",
    "zk",
    "network",
    "replication",
    "controller",
    "coordinator",
    "server",
    "learner",
    "security",
    "clients",
    "sim",
)
"""The packages of kafka_edu whose code plays a run."""
AHEAD: Final = 4
"""How many seeds wait for each worker, so that it never has to wait for one."""


class Tried(NamedTuple):
    """The result of one run. It is small, because a search keeps thousands of results."""

    scenario: str
    what: str
    """Which run was played: the hash of the scenario's text and of the planted fault's name."""
    seed: int
    digest: str
    virtual_ms: int
    cpu_s: float
    violations: tuple[tuple[str, str], ...]
    code: str
    """`code_version` of the code that played it."""

    @property
    def holds(self) -> bool:
        return not self.violations


def what_of(scenario: Scenario, plant: str = "") -> str:
    """Return `Tried.what` of a scenario. If the scenario's file or the file of a learner's part has
    changed, the value is different, and so all seeds are played again.
    """
    found = hashlib.sha256(f"{plant}\n{scenario.text()}".encode())
    for part in scenario.learners:
        found.update(part.file.read_bytes())
    return found.hexdigest()[:16]


@cache
def code_version() -> str:
    """Return the version of the code that decides what happens in a run: the hash of its files.

    With the same seed, a different version may play a different run.
    """
    found = hashlib.sha256()
    package = resources.files("kafka_edu")
    for name in PLAYED:
        for path in sorted(Path(str(package / name)).rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()[:16]


def try_seed(scenario: Scenario, seed: int, plant: str = "") -> Tried:
    """Play one seed, with a planted fault if `plant` names one."""
    with silent_brokers(), planted(plant):
        before = process_time()
        result = play(scenario, seed)
        return Tried(
            scenario.name,
            what_of(scenario, plant),
            seed,
            result.digest,
            result.virtual_ms,
            round(process_time() - before, 3),
            tuple((violation.rule, violation.text) for violation in result.violations),
            code_version(),
        )


def leave_out_imports() -> None:
    """Exclude all present objects, mainly the imported modules, from garbage collection. This makes
    the collection after each run 50 ms faster.
    """
    gc.collect()
    gc.freeze()


def try_seeds(work: Iterable[tuple[Scenario, int]], jobs: int, plant: str = "") -> Iterator[Tried]:
    """Play a run for each item of `work`. Yield each result when its run ends. With `jobs` = 1 no
    other process is started.
    """
    if jobs == 1:
        leave_out_imports()
        for scenario, seed in work:
            yield try_seed(scenario, seed, plant)
        return
    todo = iter(work)
    running: set[Future[Tried]] = set()
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=leave_out_imports
    ) as pool:
        try:
            while True:
                for scenario, seed in todo:
                    running.add(pool.submit(try_seed, scenario, seed, plant))
                    if len(running) >= jobs * AHEAD:
                        break
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda one: one.result().seed):
                    yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def tried_of(fields: dict[str, Any]) -> Tried:
    """Return a result from the fields of a line of a state file. JSON has lists, not tuples."""
    violations = tuple((rule, text) for rule, text in fields["violations"])
    return Tried(**{**fields, "violations": violations})


def rules_broken(violations: Sequence[Violation | tuple[str, str]]) -> list[str]:
    """Return the names of the broken rules, each once, in order."""
    return list(dict.fromkeys(violation[0] for violation in violations))
