"""Make a failing run as short as possible, with fewer acts, fewer clients and fewer partitions.

Acts are left out in halves, quarters and so on, as long as the same rule is still broken (ddmin:
Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002). Then clients,
topics, partitions and time are taken away in the same way. Every attempt is a whole run with the
same seed.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from kafka_edu.sim.scenario.acts import VERBS, Act
from kafka_edu.sim.scenario.language import ClientLine, Scenario
from kafka_edu.sim.scenario.scenario_run import ScenarioResult, play

T = TypeVar("T")

MOST_RUNS: Final = 200
"""Shrinking ends after this many runs. The result is the shortest failing run found so far."""
_AFTER_LAST_ACT_MS: Final = 300


class Shrunk(NamedTuple):
    """The shortest run that still breaks the rule."""

    scenario: Scenario
    result: ScenarioResult
    runs: int


class Shrinker:
    """Shrinks one run. `play_run` is a parameter, so that tests need no cluster."""

    def __init__(
        self,
        rule: str,
        play_run: Callable[[Scenario, int], ScenarioResult] = play,
        most_runs: int = MOST_RUNS,
    ) -> None:
        """`rule` is the name of the rule that must stay broken."""
        self._rule = rule
        self._play = play_run
        self._most = most_runs
        self.runs = 0
        self.best: tuple[Scenario, ScenarioResult] | None = None

    def shrink(self, scenario: Scenario, seed: int, acts: Sequence[Act]) -> Shrunk:
        """Return the shortest run found. Raises ValueError if the given run does not break the
        rule.
        """
        if not self._fails(scenario.with_acts(seed, acts)):
            raise ValueError(f"seed {seed} of {scenario.name} does not break the rule {self._rule}")
        changed = True
        while changed and self.runs < self._most:
            changed = self._fewer_acts() | self._simpler()
        assert self.best is not None
        return Shrunk(*self.best, self.runs)

    @property
    def _scenario(self) -> Scenario:
        assert self.best is not None
        return self.best[0]

    def _fails(self, scenario: Scenario) -> bool:
        """Play a shortened scenario. If it still breaks the rule, keep it as the best result so
        far.
        """
        self.runs += 1
        seed = scenario.seed
        assert seed is not None
        result = self._play(scenario, seed)
        fails = any(violation.rule == self._rule for violation in result.violations)
        if fails:
            self.best = scenario, result
        return fails

    def _fewer_acts(self) -> bool:
        """Leave out acts. Return whether any could be left out."""
        before = len(self._scenario.acts)
        fewest(
            self._scenario.acts,
            lambda rest: self._fails(self._scenario._replace(acts=rest)),
            lambda: self.runs < self._most,
        )
        return len(self._scenario.acts) < before

    def _simpler(self) -> bool:
        """Try each simplification once. Return whether one of them was possible."""
        changed = False
        for make in (_fewer_clients, _fewer_topics, _fewer_partitions, _shorter, _shorter_acts):
            for candidate in make(self._scenario):
                if self.runs >= self._most:
                    return changed
                if self._fails(candidate):
                    changed = True
                    break
        return changed


def fewest(
    parts: tuple[T, ...], fails: Callable[[tuple[T, ...]], bool], may_play: Callable[[], bool]
) -> tuple[T, ...]:
    """Leave out as many of `parts` as possible, in smaller and smaller pieces. Return the remaining
    parts, with which the run still fails. `fails` plays a scenario with fewer parts. The search
    ends early if `may_play` returns False.
    """
    pieces = 2
    while parts and may_play():
        size = max(len(parts) // pieces, 1)
        for start in range(0, len(parts), size):
            rest = parts[:start] + parts[start + size :]
            if fails(rest):
                parts = rest
                pieces = max(pieces - 1, 2)
                break
            if not may_play():
                break
        else:
            if size == 1:
                break
            pieces = min(pieces * 2, len(parts))
    return parts


def _fewer_clients(scenario: Scenario) -> Iterator[Scenario]:
    for line in scenario.clients:
        rest = tuple(one for one in scenario.clients if one != line)
        yield _with_clients(scenario, rest)
    for number, line in enumerate(scenario.clients):
        if line.kind == "group" and line.members > 1:
            fewer = line._replace(members=line.members - 1)
            clients = scenario.clients
            yield _with_clients(scenario, (*clients[:number], fewer, *clients[number + 1 :]))


def _with_clients(scenario: Scenario, clients: tuple[ClientLine, ...]) -> Scenario:
    """Return the scenario with only these clients, and without acts that name a different
    client.
    """
    fewer = scenario._replace(clients=clients)
    return fewer._replace(
        acts=tuple(
            act
            for act in scenario.acts
            if not (act.verb in VERBS and VERBS[act.verb].of_clients)
            or max(act.who) <= fewer.processes
        )
    )


def _fewer_topics(scenario: Scenario) -> Iterator[Scenario]:
    used = {client.topic for client in scenario.clients}
    for topic in scenario.topics:
        if topic.name not in used and len(scenario.topics) > 1:
            yield scenario._replace(topics=tuple(one for one in scenario.topics if one != topic))


def _fewer_partitions(scenario: Scenario) -> Iterator[Scenario]:
    for number, topic in enumerate(scenario.topics):
        for fewer in (1, topic.partitions // 2):
            if 0 < fewer < topic.partitions:
                topics = list(scenario.topics)
                topics[number] = topic._replace(partitions=fewer)
                yield scenario._replace(topics=tuple(topics))


def _shorter(scenario: Scenario) -> Iterator[Scenario]:
    last_ms = max((act.at_ms for act in scenario.acts), default=0) + _AFTER_LAST_ACT_MS
    for run_ms in (last_ms, (last_ms + scenario.run_ms) // 2):
        if run_ms < scenario.run_ms:
            yield scenario._replace(run_ms=run_ms)


def _shorter_acts(scenario: Scenario) -> Iterator[Scenario]:
    """Round the numbers of each act, so that a reader sees which numbers matter."""
    for number, act in enumerate(scenario.acts):
        rounder = act._replace(
            at_ms=_round(act.at_ms), for_ms=_round(act.for_ms), by_ms=_round(act.by_ms)
        )
        if rounder != act and rounder.at_ms < scenario.run_ms:
            acts = scenario.acts
            yield scenario._replace(acts=(*acts[:number], rounder, *acts[number + 1 :]))


def _round(ms: int) -> int:
    return ms if ms < 1_000 else round(ms, -2)
