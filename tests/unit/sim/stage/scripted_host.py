"""A stage without sockets and without real time: a script gives its commands one by one."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from kafka_edu.sim.scenario.language import Scenario
from kafka_edu.sim.stage.stage import Command, Stage
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Level

Script = Callable[["ScriptedHost"], None]


class Said(NamedTuple):
    """The answer to one command, and how it was when the answer came."""

    name: str
    ok: bool
    text: str
    at_us: int
    facts: int


class ScriptedHost:
    """Plays a stage to the end of a script of commands. Each command waits until the stage stands
    still. Its clock is one second later each time that the stage serves.
    """

    def __init__(self, scenario: Scenario, seed: int, level: Level = Level.STATE) -> None:
        self.stage = Stage(scenario, seed, self, level=level)
        self.answers: list[Said] = []
        self.shown: list[Envelope] = []
        self.turned_at: list[int] = []
        self.kept: dict[int, str] = {}
        self._clock_s = 0.0
        self._script: deque[tuple[str, dict[str, object]]] = deque()
        self._waits = False

    def play(self, *script: tuple[str, dict[str, object]]) -> list[Said]:
        """Carry out these commands, close the stage, and return the answers."""
        self._script.extend([*script, ("sim-close", {})])
        self.stage.play()
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
        name, values = self._script.popleft()
        self._waits = True

        def answer(ok: bool, text: str) -> None:
            self._waits = False
            stage = self.stage
            self.answers.append(Said(name, ok, text, stage.at_us, stage.facts))

        self.stage.commands.append(Command(name, values, answer))

    def show(self, envelope: Envelope) -> None:
        self.shown.append(envelope)

    def turned(self) -> None:
        at_us = self.stage.at_us
        self.turned_at.append(at_us)
        self.shown = [envelope for envelope in self.shown if envelope.mono_us <= at_us]

    def keep(self, future: int, text: str) -> str:
        self.kept[future] = text
        return f"future-{future}.sim"
