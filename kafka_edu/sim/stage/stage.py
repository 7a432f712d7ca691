"""Play one run of a scenario for people who watch it. They can choose the speed, go step by step,
and go back in time.

The class Stage controls the run. Between two callbacks of the simulation's loop
(`ScenarioRun.turns`), it carries out the users' commands, and its host waits in real time. The
simulation does not notice this. A run that was paused or slowed has the same facts as a run without
pauses.

Coroutines cannot be copied. So to go back, the run begins again, with the same seed and with all
acts made by hand, and is executed up to the wanted time. `FactLog` proves that the facts are the
same again. If a user then makes an act, the run continues in a different way: a new future begins
(a fork). Otherwise the run repeats all later acts too.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Final, NamedTuple, Protocol

from kafka_edu.sim.scenario.acts import ACTS, ENDS, Act
from kafka_edu.sim.scenario.language import Scenario
from kafka_edu.sim.scenario.scenario_run import (
    NOT_POSSIBLE,
    ActByHand,
    ActName,
    ScenarioResult,
    ScenarioRun,
)
from kafka_edu.sim.sim_cluster import SimCluster, coroutines_of_dead_processes
from kafka_edu.sim.sim_load import load_spec
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
    """The program in which a Stage runs. It has the real clock, sends the events to viewers, and
    receives the users' commands.

    The host iterates over `Stage.turns`. Between two turns it serves its connections.
    """

    def now_s(self) -> float:
        """Return the real time, in seconds."""
        ...

    def show(self, envelope: Envelope) -> None:
        """Show an event to the subscribers."""
        ...

    def sample(self) -> None:
        """Send a sample of the present moment."""
        ...

    def turned(self) -> None:
        """Announce that the run has gone back in time. Events that were shown after the current
        moment are no longer valid.
        """
        ...

    def keep(self, future: int, text: str) -> str:
        """Store a future of the run as a scenario file. Return the name of the file."""
        ...


class Point(NamedTuple):
    """An exact moment of a run. If two runs are compared, one run follows the other: it runs to a
    Point, and waits there for the next Point.

    A time alone is not exact, because several callbacks may run at the same ns.
    """

    at_us: int
    instant_ns: int
    turns: int
    """How many callbacks have come at `instant_ns`. 0 means all of them."""

    def is_reached(self, instant_ns: int, turns: int, next_ns: int) -> bool:
        """Return whether a run has reached this point, if its last callback was at
        `instant_ns`, and the next one is due at `next_ns`.
        """
        if next_ns > self.instant_ns:
            return True
        return bool(self.turns) and instant_ns == self.instant_ns and turns >= self.turns


class Refused(Exception):
    """A command cannot be carried out. The text says why, and what is possible."""


class Closed(Exception):
    """The stage is to end."""


class _GoBack(Exception):
    """Raised to leave the present execution, and to execute the run again up to `at_us`."""

    def __init__(
        self,
        at_us: int,
        then: Command | None = None,
        *,
        plays: bool = False,
        forgets: bool = False,
        to_us: int | None = None,
        opens: bool = False,
    ) -> None:
        super().__init__(at_us)
        self.at_us = at_us
        self.then = then
        """A command to carry out there."""
        self.plays = plays
        """Whether the run continues there by itself."""
        self.forgets = forgets
        """Whether to forget the acts that a user has made after this time."""
        self.to_us = to_us
        """The time up to which the run then continues, before it is shown. None: the run pauses at
        `at_us`.
        """
        self.opens = opens
        """Whether the run has not been executed before, because the stage begins at this time."""


class Opening(NamedTuple):
    """A moment of a run at which a Stage begins, with the acts that somebody made by hand before
    this moment.
    """

    at_us: int
    acts: tuple[Act, ...] = ()
    shown_us: int = 0
    """The events of this time before the moment are shown."""


class Stage:
    """One run of a scenario that people control. `turns` plays the run until the Stage is
    closed.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        host: Host,
        *,
        level: Level = Level.ALL,
        follows: bool = False,
        names_act: Callable[[Act], ActName] = lambda act: ActName(act.verb, ""),
        opening: Opening | None = None,
        by_hand: Sequence[Act] = (),
    ) -> None:
        """With `follows`, this run follows a second run: it continues only to the points that the
        command `sim-follow` gives. `names_act` returns the name of an act for the facts of a
        supervisor. With an `opening`, the run is first executed to that moment, and pauses there.
        `by_hand` are acts that a user has made in an earlier Stage.
        """
        self.scenario = scenario
        self.seed = seed
        self.commands: deque[Command] = deque()
        self._host = host
        self._level = level
        self._names_act = names_act
        self._log = FactLog()
        self._pace = Pace()
        self._run = ScenarioRun(scenario, seed)
        self._schedule = self._run.acts
        """The acts of the scenario or of its seed."""
        self._by_hand = [*by_hand, *(opening.acts if opening is not None else ())]
        self._begun_us = 0
        """When the run of this seed begins. It is known after its first execution."""
        self._callbacks = 0
        """The number of callbacks that the present execution has run."""
        self._back: _GoBack | None = None
        """Why the run is being executed again, or None."""
        self._back_began_s = 0.0
        self._clock_us = 0
        self._instant_ns = self._turns_there = 0
        self.follows = follows
        self._points: deque[Point] = deque()
        """The points to which this run still has to follow another one."""
        self._stands_at: Point | None = None
        self.stops_at: Callable[[Envelope], bool] = lambda envelope: False
        """Returns whether the run must stand still after the callback that emitted a fact."""
        self._paused = follows
        self._unit = Unit.EVENT
        self._step_to: Unit | None = None
        self._step_until_us = 0
        self._want_ready: list[Command] = []
        """The commands that wait until the cluster is up."""
        self._want_there: list[Command] = []
        """The commands that wait until the run has come to the time of `sim-reach`."""
        self._acting = False
        """Whether an act made by hand has no result yet. The run continues until it has one."""
        self._served_s = 0.0
        self._result: ScenarioResult | None = None
        self._future = 1
        self._turns = 0
        self._note = ""
        if opening is not None:
            begin_us = max(opening.at_us - opening.shown_us, 0)
            self._back = _GoBack(begin_us, to_us=opening.at_us, opens=True)
            self._back_began_s = host.now_s()

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
        """The digest of all facts up to now. It includes the events up to the trace level of this
        Stage.
        """
        return self._log.digest.hex()

    @property
    def facts(self) -> int:
        return self._log.count

    @property
    def catches_up(self) -> bool:
        """Whether this run follows a second run, and has not reached the last given point yet."""
        return self.follows and bool(self._points)

    def sampled(self) -> SimulationSampled:
        """Return the state of the run as a sample for the subscribers."""
        state = (
            "replaying"
            if self._back is not None
            else "ended"
            if self._result is not None
            else "paused"
            if (self.follows and not self._points) or (self._paused and not self.follows)
            else "running"
        )
        at = self._stands_at or self._point()
        return SimulationSampled(
            state=state,
            at_us=self.at_us if self._back is None else self._back.at_us,
            run_us=self._run.begun_us,
            speed_percent=round(100 * self._pace.speed),
            unit=self._unit.value,
            future=self._future,
            turns=self._turns,
            note=self._note,
            instant_ns=at.instant_ns,
            turns_there=at.turns,
        )

    def _point(self) -> Point:
        """Return the exact moment at which the run is."""
        if self._clock_us * 1_000 > self._instant_ns:
            return Point(self._clock_us, self._clock_us * 1_000, 0)
        return Point(self.at_us, self._instant_ns, self._turns_there)

    def acts_until(self, at_us: int) -> list[Act]:
        """Return the acts that somebody made by hand in this future up to the time `at_us` (µs)."""
        begun_us = self._run.begun_us or self._begun_us  # 0: no run has begun, so no act has
        return [act for act in self._by_hand if 0 < begun_us <= at_us - 1_000 * act.at_ms]

    def text(self) -> str:
        """Return the present future as the text of a scenario file, with the seed and all acts."""
        acts = (*self._schedule, *self._by_hand)
        return self.scenario.with_acts(self.seed, acts).text()

    def turns(self) -> Iterator[float]:
        """Play the run. Play it again from its start each time that a user goes back in time.
        Yields the maximum number of seconds for which the host may send events and wait for a
        command.
        """
        while (back := (yield from self._until_left())) is not None:
            self._begin_again(back)
        self._drop_run()

    def _until_left(self) -> Generator[float, None, _GoBack | None]:
        """Play the run once. Return where to go back to, or None if the Stage was closed."""
        try:
            self._result = yield from self._run_once()
            self._note = _verdict(self._result)
            if self._back is not None:  # the wanted moment is the very end
                self._arrive()
            while True:
                for command in (*self._want_ready, *self._want_there):
                    command.answer(False, self._note)
                self._want_ready.clear()
                self._want_there.clear()
                self._obey()
                yield REST_S
        except _GoBack as back:
            return back.with_traceback(None)  # its frames would keep the old run in memory
        except Closed:
            return None

    def _run_once(self) -> Generator[float, None, ScenarioResult]:
        self._result = None
        self._callbacks = self._clock_us = self._instant_ns = self._turns_there = 0
        digest = self._log.begin_again()
        acts = (*self._schedule, *self._by_hand)
        self._run = ScenarioRun(
            self.scenario,
            self.seed,
            acts,
            self._take,
            self._level,
            slice_ms=1,
            names_act=self._names_act,
            ranked=True,
            digest=digest,
        )
        self._pace.anchor(self._host.now_s(), 0)
        with closing(self._run.turns()) as turns:
            for next_ns in turns:
                self._count_turn()
                if self._back is not None:
                    if next_ns // 1_000 <= self._back.at_us:
                        if self._callbacks % PROGRESS_EVERY == 0 and self._progress():
                            yield 0.0
                        continue
                    self._arrive()
                yield from self._until_free(next_ns)
        assert self._run.result is not None
        return self._run.result

    def _count_turn(self) -> None:
        self._callbacks += 1
        now_ns = self.cluster.loop.now_ns
        self._turns_there = self._turns_there + 1 if now_ns == self._instant_ns else 1
        self._instant_ns = now_ns

    def _begin_again(self, back: _GoBack) -> None:
        self._back, self._back_began_s = back, self._host.now_s()
        self._host.keep(self._future, self.text())
        self._step_to, self._acting = None, False
        self._drop_run()

    def _drop_run(self) -> None:
        """Replace the present execution by one that has not begun."""
        self._begun_us = self._run.begun_us or self._begun_us
        self._run.cluster.close()
        with coroutines_of_dead_processes():
            self._run = ScenarioRun(self.scenario, self.seed)

    def stand_still(self) -> None:
        """Pause before the next callback."""
        self._paused, self._step_to = True, None

    def _take(self, envelope: Envelope) -> None:
        """Take an event of the simulation."""
        self._log.take(envelope)
        if self._back is None:
            self._host.show(envelope)
            if self.stops_at(envelope):
                self.stand_still()
            if self._step_to is not None and is_at(envelope, self._step_to):
                self._paused, self._step_to = True, None

    def _until_free(self, next_ns: int) -> Iterator[float]:
        """Wait until the next callback, which is due at `next_ns`, may run."""
        has_hurried = False
        while True:
            self._obey()
            if self._want_ready and self._run.has_begun:
                for command in self._want_ready:
                    command.answer(True, "the cluster is up")
                self._want_ready.clear()
            rest_s = self._rest_s(next_ns)
            if self._want_there and self._step_to is None:
                for command in self._want_there:
                    command.answer(True, f"the run stands at {self._words()}")
                self._want_there.clear()
            if rest_s is None or (has_hurried and not rest_s):
                break  # so that the run also continues on a very slow machine
            yield rest_s
            self._served_s, has_hurried = self._host.now_s(), not rest_s
        self._clock_us, self._stands_at = 0, None

    def _rest_s(self, next_ns: int) -> float | None:
        """Return for how many seconds the host should serve its connections before the next
        callback, or None if the callback may run now.
        """
        if self.follows:
            return self._follower_rest_s(next_ns)
        now_s = self._host.now_s()
        if self._step_to is Unit.MILLISECOND and next_ns > self._step_until_us * 1_000:
            self._clock_us, self._paused, self._step_to = self._step_until_us, True, None
        if self._acting or self._step_to is not None:
            wait_s = 0.0
        elif self._paused:
            return REST_S
        elif not self._run.has_begun:
            wait_s = 0.0  # the start of the cluster is not shown in slow motion
        else:
            wait_s = self._pace.wait_s(now_s, next_ns)
        return min(wait_s, TICK_S) if wait_s > 0 else self._hurried_rest_s()

    def _hurried_rest_s(self) -> float | None:
        """Return the pause of a run that should be as fast as possible: None, or every TICK_S a
        pause of 0 s, so that the host serves its connections.
        """
        return 0.0 if self._host.now_s() - self._served_s >= TICK_S else None

    def _follower_rest_s(self, next_ns: int) -> float | None:
        """Return the pause of a run that follows a second run. The run continues to the next point
        at full speed. If no next point is given, it waits.
        """
        while self._points and self._points[0].is_reached(
            self._instant_ns, self._turns_there, next_ns
        ):
            self._stand_at(self._points.popleft())
        if self._points:
            return self._hurried_rest_s()
        return REST_S

    def _stand_at(self, point: Point) -> None:
        """Send a sample of the run at `point`. The followed run has sent a sample of the same
        moment.
        """
        self._stands_at, self._clock_us = point, point.at_us
        self._host.sample()

    def _progress(self) -> bool:
        """Return whether the host should serve its connections now, while the run is executed
        again.
        """
        now_s = self._host.now_s()
        if self._back is None or now_s - self._served_s < TICK_S:
            return False
        self._served_s = now_s
        if now_s - self._back_began_s > 1.0:
            done = self.cluster.loop.now_ns // max(10 * self._back.at_us, 1)
            executed = "executed" if self._back.opens else "executed again"
            self._note = f"{executed} from the start: {done} %"
        return True

    def _arrive(self) -> None:
        """Pause at the moment to which a user has gone back."""
        back, self._back = self._back, None
        assert back is not None
        self._paused = not back.plays
        self._turns += 1
        later = self._result is None and back.at_us * 1_000 > self.cluster.loop.now_ns
        self._clock_us = back.at_us if later else 0
        executed = "executed" if back.opens else "executed again"
        same = "" if back.opens else "the same "
        self._note = (
            self._log.parted
            or f"{executed} from the start: {same}{self._log.count:,} facts, digest"
            f" {self.digest[:8]}"
        )
        self._pace.anchor(self._host.now_s(), self.cluster.loop.now_ns)
        self._host.turned()
        if back.to_us is not None:
            self._step_to, self._step_until_us = Unit.MILLISECOND, back.to_us
        if back.then is not None:
            self.commands.appendleft(back.then)
        if back.forgets and len(self.acts_until(self.at_us)) < len(self._by_hand):
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
        if self.follows and command.name not in ("sim-close", "sim-follow"):
            raise Refused("this future is only shown: act in the other one (key f)")
        match command.name:
            case "sim-close":
                command.answer(True, "")
                raise Closed
            case "wait-ready":
                if self._run.has_begun:
                    return "the cluster is up"
                self._want_ready.append(command)
                return None
            case "sim-pause":
                self.stand_still()
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
                units = [
                    unit for unit in Unit if unit is not Unit.LEARNER or self.scenario.learners
                ]
                self._unit = units[(units.index(self._unit) + 1) % len(units)]
                return f"a step goes to the next {self._unit}"
            case "sim-step":
                self._refuse_at_end()
                self._step_to, self._paused = self._unit, True
                self._step_until_us = self.at_us + 1_000
                self._note = ""
                return f"step by {self._unit}"
            case "sim-reach":
                self._refuse_at_end()
                at_us = _number(values, "at_us")
                if at_us < self.at_us:
                    raise Refused(f"the run has come to {self._words()}: go back in time")
                self._step_to, self._step_until_us, self._paused = Unit.MILLISECOND, at_us, True
                self._want_there.append(command)
                return None
            case "sim-loads":
                return str(self._run.loads())
            case "sim-follow":
                self._follow(command)
                return f"follows to {len(self._points)} points"
            case "sim-find":
                by = 1 if _number(values, "by") > 0 else -1
                return str(self._log.find(self._unit, _number(values, "from_us"), by))
            case "sim-back":
                at_us = _number(values, "at_us")
                self._refuse_beyond(at_us)
                shown_us = values.get("shown_us")
                command.answer(True, "the run is executed again from its start")
                raise _GoBack(
                    max(at_us - shown_us, 0) if isinstance(shown_us, int) else at_us,
                    to_us=at_us if isinstance(shown_us, int) else None,
                    plays=bool(values.get("plays")),
                    forgets=bool(values.get("forgets")),
                )
            case _:
                self._act(command)
                return None

    def _follow(self, command: Command) -> None:
        """Add the next points to which this run must go. If the first of them lies before the
        present moment, go back.
        """
        points = [_point_of(word) for word in str(command.values.get("points", "")).split()]
        if not self.follows or not points:
            raise Refused("only a run that was started for it follows another one, point by point")
        if self._points and points[0] < self._points[-1]:
            self._points.clear()  # the followed run has gone back, so its old points are void
        if points[0] < self._point_or_start() and "again" not in command.values:
            self._points.clear()
            self._stands_at = None
            again = command._replace(values={**command.values, "again": True})
            raise _GoBack(max(points[0].at_us - 1, 0), again)
        if self._result is None:
            self._points += points

    def _point_or_start(self) -> Point:
        """Return the point at which the run is; for a run that has not begun, the earliest possible
        point.
        """
        return (self._stands_at or self._point()) if self._callbacks > 1 else Point(0, 0, 0)

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
        """Carry out an act of the user, at the next whole millisecond of the shown moment."""
        act = _act_of(command, self.scenario.broker_ids)
        at_us = command.values.get("at_us")
        if isinstance(at_us, int) and at_us < self.at_us:
            self._refuse_beyond(at_us)
            there = {name: one for name, one in command.values.items() if name != "at_us"}
            raise _GoBack(at_us, command._replace(values={**there, "forks": True}))
        self._refuse_at_end()

        def done(possible: bool, why: str) -> None:
            self._acting = False
            if possible or why != NOT_POSSIBLE or self.cluster.supervised:
                # A refused act may have facts too. So it is kept; otherwise the facts would differ
                # when the run is executed again.
                self._by_hand.append(act)
            file = self._host.keep(self._future, self.text())
            if possible:
                command.answer(True, f"{act} (future {self._future}, {file})")
            else:
                reason = self._run.why_impossible(act) if why == NOT_POSSIBLE else ""
                command.answer(False, f"{act}: {why}. {reason}" if reason else f"{act}: {why}")

        act = self._run.act_by_hand(ActByHand(act, done))
        if self._log.repeats or command.values.get("forks"):
            self._fork()
        self._acting = True

    def _fork(self) -> None:
        """Begin a new future at the present moment. Acts that were made later belong to the old
        future.
        """
        kept = self.acts_until(self.at_us)
        self._run.forget_acts([act for act in self._by_hand if act not in kept])
        self._by_hand = kept
        self._log.fork()
        self._future += 1
        self._host.keep(self._future, self.text())


def _point_of(word: str) -> Point:
    at_us, *rest = word.split(":")
    try:
        instant_ns, turns = map(int, rest)
        return Point(int(at_us), instant_ns, turns)
    except ValueError:
        raise Refused(f"{word!r} is no point of a run: µs:ns:callbacks") from None


def _number(values: Values, name: str) -> int:
    value = values.get(name)
    if not isinstance(value, int):
        raise Refused(f"`{name}` must be a whole number")
    return value


_LINK: Final = ("broker", "other")
SCENARIO_ACTS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "kill": ("kill", ("broker",)),
    "stop": ("stop", ("broker",)),
    "start": ("start", ("broker",)),
    "pause": ("pause", ("broker",)),
    "resume": ("resume", ("broker",)),
    "expire-session": ("expire-session", ("broker",)),
    "cut-link": ("cut", _LINK),
    "slow-link": ("delay-link", _LINK),
    "heal-link": ("heal", _LINK),
    "cut-zookeeper": ("cut-zookeeper", ("broker",)),
    "heal-zookeeper": ("heal-zookeeper", ("broker",)),
    "restart": ("restart", ("broker",)),
    "start-load": ("load", ()),
    "stop-load": ("end-load", ()),
    **{
        name: (name, ())
        for name in (
            "create-topic",
            "add-partitions",
            "delete-topic",
            "reassign",
            "elect-preferred",
            "elect-unclean",
            "delete-controller",
        )
    },
    "write-controller": ("write-controller", ("broker",)),
}
"""The supervisor's name of an act → the name in scenarios, and the brokers that it needs."""


def supervisors_act(act: Act) -> tuple[str, dict[str, object]]:
    """Return the supervisor's name of an act, and its values."""
    name, takes = _NAMES.get(act.verb, (act.verb, ()))
    values: dict[str, object] = dict(zip(takes, act.who, strict=False))
    values |= {"delay_ms": act.by_ms} if act.by_ms else {}
    return name, values | dict(option.split("=", 1) for option in act.options)


_NAMES: Final = {verb: (name, takes) for name, (verb, takes) in SCENARIO_ACTS.items()}


def _act_of(command: Command, brokers: range) -> Act:
    """Return the act of a scenario that a supervisor's command means. Raises Refused."""
    found = SCENARIO_ACTS.get(command.name)
    if found is None:
        raise Refused(
            f"'{command.name}' is no act on a simulated cluster; there are"
            f" {', '.join(SCENARIO_ACTS)}"
        )
    verb, names = found
    known = ACTS.get(verb) or ENDS[verb]
    who = tuple(_number(command.values, name) for name in names)
    for broker in who:
        if broker not in brokers:
            raise Refused(f"there is no broker {broker}: they are {brokers[0]} to {brokers[-1]}")
    if len(set(who)) < len(who):
        raise Refused(f"a link has two ends: {who[0]} and {who[1]} are the same broker")
    by_ms = _number(command.values, "delay_ms") if verb == "delay-link" else 0
    for_ms = _number(command.values, "for_ms") if "for_ms" in command.values else 0
    options = tuple(
        f"{name}={command.values[name]}" for name in known.options if name in command.values
    )
    if verb == "load":
        load_spec(options)
    return Act(0, verb, who, for_ms, by_ms, options)


def _verdict(result: ScenarioResult) -> str:
    at = show_ms(result.virtual_ms)
    if result.holds:
        return f"ended at {at}: every rule holds"
    more = f" (and {len(result.violations) - 1} more)" if len(result.violations) > 1 else ""
    return f"ended at {at}: {result.violations[0]}{more}"
