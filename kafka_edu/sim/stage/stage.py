"""Plays one run of a scenario for people: at a chosen speed, step by step, back and forth.

The stage stands between two callbacks of the simulation's loop, in `SimLoop.gate`. There it waits
in real time, and there it obeys commands. The simulation itself never notices it: a run that was
paused, slowed and stepped has the same facts as one that was not.

Coroutines cannot be copied. So to go back, the run begins again, with the same seed and with all
acts made by hand, and is executed up to the wanted time. `FactLog` proves that the
facts are the same again. An act made there begins another future, a fork. Without one, history
repeats itself, together with the acts that somebody made later.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

from kafka_edu.sim.scenario.acts import ENDS, VERBS, Act
from kafka_edu.sim.scenario.language import Scenario
from kafka_edu.sim.scenario.scenario_run import ActByHand, ScenarioResult, ScenarioRun
from kafka_edu.sim.sim_cluster import SimCluster, coroutines_of_dead_processes
from kafka_edu.sim.stage.fact_log import FactLog, Unit, is_at
from kafka_edu.sim.stage.pace import Pace
from kafka_edu.sim.times import show_ms
from kafka_edu.trace.event import Envelope, Level
from kafka_edu.trace.events.simulation import SimulationSampled

TICK_S: Final = 0.05
"""How often commands are read and events are sent while the simulation runs, in real seconds."""
REST_S: Final = 0.2
"""The longest wait for a command while the run is paused, in real seconds."""
PROGRESS_EVERY: Final = 500
"""While a run is executed again, the clock is read after this many callbacks."""

Values = Mapping[str, object]
Answer = Callable[[bool, str], None]
"""A function that gets whether a command was carried out, and its result or the reason."""


class Command(NamedTuple):
    name: str
    values: Values
    answer: Answer


class Host(Protocol):
    """Where a stage plays: it has the real clock, and passes on events and commands."""

    def now_s(self) -> float:
        """Return the real time, in seconds."""
        ...

    def serve(self, at_most_s: float) -> None:
        """Send what is to be sent, and wait for a command, at most for this time."""
        ...

    def show(self, envelope: Envelope) -> None:
        """Show an event to those who watch."""
        ...

    def turned(self) -> None:
        """Say that the run has gone back: what was shown after the present moment is void."""
        ...

    def keep(self, future: int, text: str) -> str:
        """Keep a future as a scenario file. Return the name of the file."""
        ...


class Refused(Exception):
    """A command cannot be carried out. The text says why, and what is possible."""


class Closed(Exception):
    """The stage is to end."""


class _GoBack(Exception):
    """Leaves the present execution, to execute the run again up to a time."""

    def __init__(
        self, at_us: int, then: Command | None = None, *, plays: bool = False, forgets: bool = False
    ) -> None:
        super().__init__(at_us)
        self.at_us = at_us
        self.then = then
        """A command to carry out there."""
        self.plays = plays
        """Whether the run goes on there by itself."""
        self.forgets = forgets
        """Whether the acts that somebody made after this time are forgotten."""


class _ByHand(NamedTuple):
    act: Act
    at_us: int
    """The exact virtual time at which it began."""


class Stage:
    """One run of a scenario, under the control of people. `play` plays until it is closed."""

    def __init__(
        self, scenario: Scenario, seed: int, host: Host, *, level: Level = Level.ALL
    ) -> None:
        self.scenario = scenario
        self.seed = seed
        self.commands: deque[Command] = deque()
        self._host = host
        self._level = level
        self._log = FactLog()
        self._pace = Pace()
        self._run = ScenarioRun(scenario, seed)
        self._schedule = self._run.acts
        """The acts of the scenario or of its seed."""
        self._by_hand: list[_ByHand] = []
        self._callbacks = 0
        """The number of callbacks that the present execution has run."""
        self._back: _GoBack | None = None
        """Why the run is being executed again, or None."""
        self._back_began_s = 0.0
        self._clock_us = 0
        self._paused = False
        self._unit = Unit.EVENT
        self._step_to: Unit | None = None
        self._step_until_us = 0
        self._acting = False
        """Whether an act made by hand is on its way. The run goes on until it has begun."""
        self._served_s = 0.0
        self._result: ScenarioResult | None = None
        self._future = 1
        self._turns = 0
        self._note = ""

    @property
    def cluster(self) -> SimCluster:
        return self._run.cluster

    @property
    def run(self) -> ScenarioRun:
        return self._run

    @property
    def at_us(self) -> int:
        """The virtual time, in µs since the start of the cluster."""
        return max(self.cluster.loop.now_ns // 1_000, self._clock_us)

    @property
    def digest(self) -> str:
        """The digest of all facts up to now, at the level of the stage."""
        return self._log.digest

    @property
    def facts(self) -> int:
        return self._log.count

    def sampled(self) -> SimulationSampled:
        """Return the state of the run, for those who watch."""
        state = (
            "replaying"
            if self._back is not None
            else "ended"
            if self._result is not None
            else "paused"
            if self._paused
            else "running"
        )
        return SimulationSampled(
            state=state,
            at_us=self.at_us if self._back is None else self._back.at_us,
            run_us=self._run.begun_us,
            speed_percent=round(100 * self._pace.speed),
            unit=self._unit.value,
            future=self._future,
            turns=self._turns,
            note=self._note,
        )

    def text(self) -> str:
        """Return the present future as a scenario file: its seed and all its acts."""
        acts = (*self._schedule, *(one.act for one in self._by_hand))
        return self.scenario.with_acts(self.seed, acts).text()

    def play(self) -> None:
        """Play the run, again and again from its start if somebody goes back."""
        while (back := self._until_left()) is not None:
            self._begin_again(back)
        self._drop_run()

    def _until_left(self) -> _GoBack | None:
        """Play the run once. Return why it was left, or None if the stage is to end."""
        try:
            self._result = self._run_once()
            self._note = _verdict(self._result)
            if self._back is not None:  # the wanted moment is the very end
                self._arrive()
            while True:
                self._obey()
                self._host.serve(REST_S)
        except _GoBack as back:
            return back.with_traceback(None)  # else its frames would keep what was left
        except Closed:
            return None

    def _run_once(self) -> ScenarioResult:
        self._result = None
        self._callbacks = self._clock_us = 0
        self._log.begin_again()
        acts = (*self._schedule, *(one.act for one in self._by_hand))
        self._run = ScenarioRun(self.scenario, self.seed, acts, self._take, self._level, slice_ms=1)
        self._run.cluster.loop.gate = self._gate
        self._pace.anchor(self._host.now_s(), 0)
        return self._run.play()

    def _begin_again(self, back: _GoBack) -> None:
        self._back, self._back_began_s = back, self._host.now_s()
        self._host.keep(self._future, self.text())
        self._step_to, self._acting = None, False
        self._drop_run()

    def _drop_run(self) -> None:
        """Replace the present execution by one that has not begun."""
        self._run.cluster.close()
        with coroutines_of_dead_processes():
            self._run = ScenarioRun(self.scenario, self.seed)

    def _take(self, envelope: Envelope) -> None:
        """Take an event of the simulation."""
        self._log.take(envelope)
        if self._back is None:
            self._host.show(envelope)
            if self._step_to is not None and is_at(envelope, self._step_to):
                self._paused, self._step_to = True, None

    def _gate(self, next_ns: int) -> None:
        """Stand before the next callback, which is due at `next_ns`, until it may run."""
        self._callbacks += 1
        if self._back is not None:
            if next_ns // 1_000 <= self._back.at_us:
                if self._callbacks % PROGRESS_EVERY == 0:
                    self._progress(self._back.at_us)
                return
            self._arrive()
        while True:
            self._obey()
            if self._may_go(next_ns):
                break
        self._clock_us = 0

    def _may_go(self, next_ns: int) -> bool:
        """Return whether the next callback may run now. Wait a moment if it may not."""
        now_s = self._host.now_s()
        if self._step_to is Unit.MILLISECOND and next_ns > self._step_until_us * 1_000:
            self._clock_us, self._paused, self._step_to = self._step_until_us, True, None
        if self._acting or self._step_to is not None:
            wait_s = 0.0
        elif self._paused:
            self._host.serve(REST_S)
            self._served_s = self._host.now_s()
            return False
        elif not self._run.has_begun:
            wait_s = 0.0  # nobody wants to wait for the start of the cluster
        else:
            wait_s = self._pace.wait_s(now_s, next_ns)
        if wait_s > 0:
            self._host.serve(min(wait_s, TICK_S))
            self._served_s = self._host.now_s()
            return False
        if now_s - self._served_s >= TICK_S:
            self._host.serve(0.0)
            self._served_s = now_s
            return not self.commands
        return True

    def _progress(self, to_us: int) -> None:
        now_s = self._host.now_s()
        if now_s - self._served_s < TICK_S:
            return
        self._served_s = now_s
        if now_s - self._back_began_s > 1.0:
            done = self.cluster.loop.now_ns // max(10 * to_us, 1)
            self._note = f"executed again from the start: {done} %"
        self._host.serve(0.0)

    def _arrive(self) -> None:
        """Stand at the moment to which somebody wanted to go back."""
        back, self._back = self._back, None
        assert back is not None
        self._paused = not back.plays
        self._turns += 1
        self._clock_us = back.at_us if back.at_us * 1_000 > self.cluster.loop.now_ns else 0
        self._note = (
            self._log.parted
            or f"executed again from the start: the same {self._log.count:,} facts, digest"
            f" {self.digest[:8]}"
        )
        self._pace.anchor(self._host.now_s(), self.cluster.loop.now_ns)
        self._host.turned()
        if back.then is not None:
            self.commands.appendleft(back.then)
        if back.forgets and any(one.at_us > self.at_us for one in self._by_hand):
            self._fork()

    def _obey(self) -> None:
        while self.commands and not self._acting:
            command = self.commands.popleft()
            try:
                said = self._carry_out(command)
            except (Refused, ValueError) as error:
                command.answer(False, str(error))
            else:
                if said is not None:
                    command.answer(True, said)

    def _carry_out(self, command: Command) -> str | None:
        """Carry out a command. Return its result, or None if the result comes later."""
        values = command.values
        match command.name:
            case "sim-close":
                command.answer(True, "")
                raise Closed
            case "sim-pause":
                self._paused, self._step_to = True, None
                return f"paused at {self._words()}"
            case "sim-run":
                self._refuse_at_end()
                self._go_on()
                return f"goes on at {self._words()}"
            case "sim-faster" | "sim-slower":
                self._pace.change(1 if command.name == "sim-faster" else -1)
                self._pace.anchor(self._host.now_s(), self.cluster.loop.now_ns)
                return f"speed {self._pace.words}"
            case "sim-unit":
                units = list(Unit)
                self._unit = units[(units.index(self._unit) + 1) % len(units)]
                return f"a step goes to the next {self._unit}"
            case "sim-step":
                self._refuse_at_end()
                self._step_to, self._paused = self._unit, True
                self._step_until_us = self.at_us + 1_000
                self._note = ""
                return f"step by {self._unit}"
            case "sim-find":
                by = 1 if _number(values, "by") > 0 else -1
                return str(self._log.find(self._unit, _number(values, "from_us"), by))
            case "sim-back":
                self._refuse_beyond(_number(values, "at_us"))
                command.answer(True, "the run is executed again from its start")
                raise _GoBack(
                    _number(values, "at_us"),
                    plays=bool(values.get("plays")),
                    forgets=bool(values.get("forgets")),
                )
            case _:
                self._act(command)
                return None

    def _refuse_at_end(self) -> None:
        if self._result is not None:
            raise Refused(f"the run has ended at {self._words()}: go back in time first")

    def _refuse_beyond(self, at_us: int) -> None:
        if not 0 <= at_us <= self.at_us:
            raise Refused(
                f"{at_us / 1e6:.6f} s is beyond the end: the run has come to {self._words()}"
            )

    def _go_on(self) -> None:
        self._paused, self._step_to, self._note = False, None, ""
        self._pace.anchor(self._host.now_s(), self.cluster.loop.now_ns)

    def _words(self) -> str:
        return f"{self.at_us / 1e6:.6f} s"

    def _act(self, command: Command) -> None:
        """Make an act by hand, at the next whole millisecond of the moment that is looked at."""
        act = _act_of(command, self.scenario.brokers)
        at_us = command.values.get("at_us")
        if isinstance(at_us, int) and at_us < self.at_us:
            self._refuse_beyond(at_us)
            there = {name: one for name, one in command.values.items() if name != "at_us"}
            raise _GoBack(at_us, command._replace(values={**there, "forks": True}))
        self._refuse_at_end()

        def done(possible: bool) -> None:
            self._acting = False
            if possible:
                self._by_hand.append(_ByHand(act, self.cluster.loop.now_ns // 1_000))
                file = self._host.keep(self._future, self.text())
                command.answer(True, f"{act} (future {self._future}, {file})")
            else:
                command.answer(False, f"{act}: not possible now, so nothing was done")

        act = self._run.act_by_hand(ActByHand(act, done))
        if self._log.repeats or command.values.get("forks"):
            self._fork()
        self._acting = True

    def _fork(self) -> None:
        """Begin another future here. The acts that somebody made later belong to the old one."""
        later = [one for one in self._by_hand if one.at_us > self.at_us]
        self._by_hand = [one for one in self._by_hand if one not in later]
        self._run.forget_acts([one.act for one in later])
        self._log.fork()
        self._future += 1


def _number(values: Values, name: str) -> int:
    value = values.get(name)
    if not isinstance(value, int):
        raise Refused(f"`{name}` must be a whole number")
    return value


_LINK: Final = ("broker", "other")
_SCENARIO_ACTS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "kill": ("kill", ("broker",)),
    "stop": ("stop", ("broker",)),
    "start": ("start", ("broker",)),
    "pause": ("pause", ("broker",)),
    "resume": ("resume", ("broker",)),
    "expire-session": ("expire-session", ("broker",)),
    "cut-link": ("cut", _LINK),
    "slow-link": ("slow-link", _LINK),
    "heal-link": ("heal", _LINK),
    "cut-zookeeper": ("cut-zookeeper", ("broker",)),
    "heal-zookeeper": ("heal-zookeeper", ("broker",)),
}
"""The supervisor's name of an act → the name in scenarios, and the brokers that it needs."""


def _act_of(command: Command, brokers: int) -> Act:
    """Return a supervisor's act in the words of scenarios. Raises Refused."""
    found = _SCENARIO_ACTS.get(command.name)
    if found is None:
        raise Refused(
            f"'{command.name}' is no act on a simulated cluster; there are"
            f" {', '.join(_SCENARIO_ACTS)}"
        )
    verb, names = found
    assert verb in VERBS or verb in ENDS
    who = tuple(_number(command.values, name) for name in names)
    for broker in who:
        if not 1 <= broker <= brokers:
            raise Refused(f"there is no broker {broker}: they are 1 to {brokers}")
    if len(set(who)) < len(who):
        raise Refused(f"a link has two ends: {who[0]} and {who[1]} are the same broker")
    by_ms = _number(command.values, "delay_ms") if verb == "slow-link" else 0
    return Act(0, verb, who, by_ms=by_ms)


def _verdict(result: ScenarioResult) -> str:
    at = show_ms(result.virtual_ms)
    if result.holds:
        return f"ended at {at}: every rule holds"
    more = f" (and {len(result.violations) - 1} more)" if len(result.violations) > 1 else ""
    return f"ended at {at}: {result.violations[0]}{more}"
