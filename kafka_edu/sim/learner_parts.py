"""Let learners' parts work in simulated brokers. A part is a file in which a learner has written
one class or function of the broker, as an exercise.

In a real cluster each broker is a process, so a learner's part is installed in one broker by
putting another object under a name of a module (`kafka_edu.learner.seams`). Simulated brokers share
one Python process. So `seams_by_process` puts a special object under that name. The object finds
out which simulated process is running, and uses the learner's part of this process. If the process
has no part, the object uses our own code.

Each simulated broker has its own process of the learner's code, as in a real cluster. A broker that
starts again gets a new process. In such a process Python's hashes of strings have a fixed seed,
because they decide the order of sets. Otherwise two runs with the same seed could differ.
"""

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple
from unittest.mock import patch

from kafka_edu.common.busy_machine import Allowance
from kafka_edu.learner.learner_trace import Prints, trace_calls, trace_learner
from kafka_edu.learner.seams import BROKER, LearnerCode, Seam, adapter_of, seams_of
from kafka_edu.sim.sim_loop import SimProcess, current_process
from kafka_edu.trace.tracer import Tracer

CALL: Final = Allowance(processor_s=1.0)
"""The limits of one call. Virtual time stands still meanwhile, so nobody waits for the answer."""
HASH_SEED: Final = 0
NOT_SIMULATED: Final = frozenset({"09-5"})
"""The cleaner's passes run in threads of a broker. A simulation has none."""


class InstalledPart(NamedTuple):
    """A learner's file, and the brokers in which it serves."""

    exercise: str
    file: Path
    brokers: tuple[int, ...] = ()
    """Empty: it serves in all of them."""

    def serves_in(self, broker: int) -> bool:
        return not self.brokers or broker in self.brokers

    @property
    def seam(self) -> Seam:
        return seams_of(BROKER)[self.exercise]


def simulated_seams() -> list[str]:
    """Return the exercises whose code can serve in a simulated broker."""
    return [exercise for exercise in seams_of(BROKER) if exercise not in NOT_SIMULATED]


def check_parts(installed: Iterable[InstalledPart]) -> None:
    """Load each file once. Raises LearnerError, with file and line, if a file cannot be loaded."""
    for part in installed:
        with Prints() as prints:
            _load(part, prints).close()


def _load(part: InstalledPart, prints: Prints) -> LearnerCode:
    return LearnerCode(
        part.seam, part.file, allowance=CALL, output=prints.file, hash_seed=HASH_SEED
    )


class RunningParts:
    """The learners' parts of one simulated broker process."""

    def __init__(
        self, installed: Sequence[InstalledPart], process: SimProcess, trace: Tracer
    ) -> None:
        """Start a process for each file. Raises LearnerError if a file cannot be loaded."""
        self._parts: list[tuple[LearnerCode, Prints]] = []
        try:
            for part in installed:
                prints = Prints()
                code = _load(part, prints)
                self._parts.append((code, prints))
                replacement = adapter_of(part.seam)(code)
                assert callable(replacement)
                process.replaced[part.exercise] = replacement
        except BaseException:
            self.close()
            raise
        self._served = trace_learner([code for code, _ in self._parts], trace)
        for code, prints in self._parts:
            trace_calls(code, prints, trace)

    def stopped(self) -> None:
        """Emit how often each part was called. Called when the parts' broker is stopped and not
        killed.
        """
        self._served()

    def close(self) -> None:
        """End the processes of the learners' code."""
        for code, prints in self._parts:
            code.close()
            prints.close()
        self._parts.clear()


@contextmanager
def seams_by_process(exercises: Iterable[str]) -> Iterator[None]:
    """During the `with` block, let the broker's modules use the learners' parts for these
    exercises. Each use takes the part of the simulated process that is running.
    """
    seams = [seams_of(BROKER)[exercise] for exercise in sorted(set(exercises))]
    for seam in seams:  # an adapter extends our class, which it must find under its name
        adapter_of(seam)
    with ExitStack() as stack:
        for seam in seams:
            for place in (seam.module, *seam.also_in):
                module = importlib.import_module(place)
                ours: Callable[..., object] = vars(module)[seam.name]
                stack.enter_context(
                    patch.object(module, seam.name, _by_process(seam.exercise, ours))
                )
        yield


def _by_process(exercise: str, ours: Callable[..., object]) -> Callable[..., object]:
    def chosen(*arguments: object, **named: object) -> object:
        return current_process().replaced.get(exercise, ours)(*arguments, **named)

    return chosen
