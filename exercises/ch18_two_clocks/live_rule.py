"""The live part of 18-2: the learner's function is a rule of the checker, in runs of the simulator.

Some runs have a planted bug. The learner's rule must find the same faults as the course's own
function `right_faults`. The result also names the other rules that found the bug.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from unittest.mock import patch

from kafka_edu.learner.learner import Learner, LearnerFailure
from kafka_edu.sim.scenario.checker import RULES, Evidence
from kafka_edu.sim.scenario.scenario_run import ScenarioResult
from kafka_edu.sim.scenario.stored import StoredLog

from ..runner.manifest import Exercise
from ..runner.verdict import Step
from .history_rules import Fault, LogRow, Notes, SentRow, right_faults
from .planted_run import play, scenario

YOURS: Final = "your rule"
CLEAN: Final = (1, 2, 3)
PLANTED: Final = (("acked-too-early", 1), ("no-sequence-check", 1))
"""The planted bugs, each with the seed of a run in which it shows."""
HASH_SEEDS: Final = (1, 2)


def notes_of(seen: Evidence, log: StoredLog) -> Notes:
    """Return what a rule gets for one partition."""
    sent = [one for one in seen.history.sent.values() if one.tp == log.tp]
    names = {one.name for one in sent}
    return Notes(
        [SentRow(one.name, one.producer, one.number) for one in sent],
        {name: ack.offset for name, ack in seen.history.acked.items() if name in names},
        [LogRow(one.offset, one.name, one.producer_id, one.producer_epoch) for one in log.records],
    )


class LearnersRule:
    """The learner's function as a rule. It keeps each question and its answer."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self.asked: list[Notes] = []
        self.found: list[set[Fault]] = []
        self.failure = ""

    def __call__(self, seen: Evidence) -> Iterator[str]:
        for log in seen.leader_logs():
            notes = notes_of(seen, log)
            found = self.ask(notes)
            self.asked.append(notes)
            self.found.append(found)
            if found:
                yield f"{log.tp}: {_words(found)}"

    def ask(self, notes: Notes) -> set[Fault]:
        """Return the faults that the learner's function finds. After a failure it is not called
        again.
        """
        if self.failure:
            return set()
        try:
            came = self._learner.run(*notes.arguments())
        except LearnerFailure as failure:
            self.failure = str(failure)
            return set()
        rows = came if isinstance(came, tuple) else (came,)
        found = {row for row in rows if isinstance(row, tuple) and len(row) == 2}
        if len(found) < len(rows):
            self.failure = f"broken answered {came!r:.80}"
        return found

    def play(self, seed: int, plant: str = "") -> tuple[ScenarioResult, set[Fault], set[Fault]]:
        """Play a run with this rule. Return its result, the faults found, and the right ones."""
        begin = len(self.asked)
        run = scenario(seed)
        with patch.dict(RULES, {YOURS: self}):
            result = play(run, run.acts, plant)
        found = set().union(*self.found[begin:])
        right = set().union(*map(right_faults, self.asked[begin:]))
        return result, found, right


def _words(faults: set[Fault]) -> str:
    shown = [f"{record} is {fault}" for fault, record in sorted(faults)]
    more = f" and {len(shown) - 4} more" if len(shown) > 4 else ""
    return ", ".join(shown[:4]) + more


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Play runs without a bug and runs with a bug. The learner's rule is one of the rules."""
    assert file is not None  # no step of this part can be late
    learner = Learner(file, exercise.wanted)
    first, other = map(learner.with_hash_seed, HASH_SEEDS)
    rule = LearnersRule(first)
    try:
        say(f"{len(CLEAN)} runs of three brokers, without a bug")
        yield _silent(rule)
        for plant, seed in PLANTED:
            say(f"a run with the bug {plant}")
            yield _finds(rule, plant, seed)
    finally:
        first.close()
    say("the same questions, with another seed for Python's hashes")
    try:
        again = LearnersRule(other)
        same = [again.ask(notes) for notes in rule.asked] == rule.found
    finally:
        other.close()
    yield Step(
        "the same notes give the same answers again",
        same,
        f"{len(rule.asked)} questions" if same else "not deterministic: two different answers",
    )


def _silent(rule: LearnersRule) -> Step:
    says = "your rule finds nothing in runs without a bug"
    for seed in CLEAN:
        result, found, _ = rule.play(seed)
        others = [one for one in result.violations if one.rule != YOURS]
        if others:
            raise AssertionError(f"the run with seed {seed} is not clean: {others[0]}")
        if found or rule.failure:
            return Step(says, False, rule.failure or f"seed {seed}: {_words(found)}")
    return Step(says, True, f"{len(CLEAN)} runs, {len(rule.asked)} logs")


def _finds(rule: LearnersRule, plant: str, seed: int) -> Step:
    says = f"it finds the bug {plant}"
    result, found, right = rule.play(seed, plant)
    if rule.failure:
        return Step(says, False, rule.failure)
    if found != right:
        missed, more = right - found, found - right
        seen = f"it misses: {_words(missed)}" if missed else f"too many: {_words(more)}"
        return Step(says, False, seen)
    ours = [one.rule for one in result.violations if one.rule != YOURS]
    return Step(says, bool(found), f"{_words(found)}; our rules: {', '.join(dict.fromkeys(ours))}")
