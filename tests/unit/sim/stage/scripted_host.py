"""A stage (a simulated run that obeys commands) without sockets and without real time. A script
gives the commands one by one.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kafka_edu.sim.scenario.acts import Act
from kafka_edu.sim.scenario.language import Scenario
from kafka_edu.sim.stage.stage import Command, Opening, Stage
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Level


class Said(NamedTuple):
    """The answer to one command, and the state of the run when the answer came."""

    name: str
    ok: bool
    text: str
    at_us: int
    facts: int


class ScriptedHost:
    """Plays a stage until a script of commands is done. Each command waits until the stage stands
    still. Each time that the stage serves, the host's clock moves by one second.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        level: Level = Level.STATE,
        *,
        follows: bool = False,
        opening: Opening | None = None,
        by_hand: Sequence[Act] = (),
    ) -> None:
        self._clock_s = 0.0
        self.stage = Stage(
            *(scenario, seed, self),
            level=level,
            follows=follows,
            opening=opening,
            by_hand=by_hand,
        )
        self.answers: list[Said] = []
        self.shown: list[Envelope] = []
        self.turned_at: list[int] = []
        self.noted: list[str] = []
        """The notes of the stage, one for each time that the run went back."""
        self.sampled: list[tuple[str, str]] = []
        """The points at which the stage wanted a sample, and the digest there."""
        self.kept: dict[int, str] = {}
        self._script: deque[tuple[str, dict[str, object]]] = deque()
        self._waits = False
        self._each: Callable[[ScriptedHost], None] = lambda host: None

    def play(
        self,
        *script: tuple[str, dict[str, object]],
        each: Callable[["ScriptedHost"], None] = lambda host: None,
    ) -> list[Said]:
        """Carry out these commands, close the stage, and return the answers.

        `each` is called before each command, when the stage stands still.
        """
        self._each = each
        self._script.extend([*script, ("sim-close", {})])
        for at_most_s in self.stage.turns():
            self.serve(at_most_s)
        return self.answers

    def facts(self) -> list[Envelope]:
        return [e for e in self.shown if EVENT_TYPES[e.name].kind is Kind.FACT]

    def now_s(self) -> float:
        return self._clock_s

    def serve(self, at_most_s: float) -> None:
        self._clock_s += max(at_most_s, 0.01)
        resting = self.stage.sampled().state in ("paused", "ended")
        first = self._script[0][0] if self._script else ""
        if self._waits or not (resting or first == "sim-pause"):
            return
        self._each(self)
        name, values = self._script.popleft()
        self._waits = True

        def answer(ok: bool, text: str) -> None:
            self._waits = False
            stage = self.stage
            self.answers.append(Said(name, ok, text, stage.at_us, stage.facts))

        self.stage.commands.append(Command(name, values, answer))

    def show(self, envelope: Envelope) -> None:
        self.shown.append(envelope)

    def sample(self) -> None:
        self.sampled.append((self.stage.sampled().point, self.stage.digest))

    def turned(self) -> None:
        at_us = self.stage.at_us
        self.turned_at.append(at_us)
        self.noted.append(self.stage.sampled().note)
        self.shown = [envelope for envelope in self.shown if envelope.mono_us <= at_us]

    def keep(self, future: int, text: str) -> str:
        self.kept[future] = text
        return f"future-{future}.sim"
