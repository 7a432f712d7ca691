"""Plays many seeds of scenarios, on several cores, and stops at the first failure if it should."""

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Final, NamedTuple

from kafka_edu.sim.planted_faults import planted
from kafka_edu.sim.scenario.checker import Violation
from kafka_edu.sim.scenario.language import Scenario
from kafka_edu.sim.scenario.scenario_run import play

AHEAD: Final = 4
"""How many seeds wait for each worker, so that it never has to wait for one."""


class Tried(NamedTuple):
    """The result of one seed, small enough to be kept by the thousand."""

    scenario: str
    seed: int
    digest: str
    virtual_ms: int
    cpu_s: float
    violations: tuple[tuple[str, str], ...]

    @property
    def holds(self) -> bool:
        return not self.violations


@contextmanager
def _silent() -> Iterator[None]:
    """Keep quiet what brokers log about the faults of a seed: `sim run` shows it."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def try_seed(scenario: Scenario, seed: int, plant: str = "") -> Tried:
    """Play one seed, with a planted fault if `plant` names one."""
    with ExitStack() as stack:
        stack.enter_context(_silent())
        if plant:
            stack.enter_context(planted(plant))
        before = process_time()
        result = play(scenario, seed)
        return Tried(
            scenario.name,
            seed,
            result.digest,
            result.virtual_ms,
            round(process_time() - before, 3),
            tuple((violation.rule, violation.text) for violation in result.violations),
        )


def try_seeds(work: Iterable[tuple[Scenario, int]], jobs: int, plant: str = "") -> Iterator[Tried]:
    """Yield the results, as they come. With one job everything happens in this process."""
    if jobs == 1:
        for scenario, seed in work:
            yield try_seed(scenario, seed, plant)
        return
    todo = iter(work)
    running: set[Future[Tried]] = set()
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
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


class StateFile:
    """The seeds that were tried, one JSON line each. A search can be stopped and resumed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> list[Tried]:
        """Return what was tried. The last line may be cut off by a kill; it is tried again. Raises
        OSError, and ValueError for a line that is something else.
        """
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines(keepends=True)
        except FileNotFoundError:
            return []
        found: list[Tried] = []
        for number, line in enumerate(lines, 1):
            try:
                fields = json.loads(line)
                violations = tuple((rule, text) for rule, text in fields.pop("violations"))
                found.append(Tried(**fields, violations=violations))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                if number == len(lines) and not line.endswith("\n"):
                    self._path.write_text("".join(lines[:-1]), encoding="utf-8")
                    break
                raise ValueError(
                    f"line {number} of {self._path} is not the result of a seed ({error}): choose"
                    " another file"
                ) from error
        return found

    def add(self, tried: Tried) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(tried._asdict()) + "\n")


def rules_broken(violations: Sequence[Violation | tuple[str, str]]) -> list[str]:
    """Return the names of the broken rules, each once, in order."""
    return list(dict.fromkeys(violation[0] for violation in violations))
