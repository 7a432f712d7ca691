"""The state of a presentation: the shown step, the present part of that step, and the events so
far.

    Narration → Question → Watching → Answer → Narration of the next step

A part that the step does not have is skipped. The watching part begins with the acts on the
cluster, and ends when everything that the step waits for has happened. No part ends because time
has passed.

This module is pure: its methods return effects, and the dashboard or the plain presenter carries
them out. Acts are never repeated: a learner who goes back only sees the earlier state again.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from kafka_edu.instruments.presenter.expectation import bound_by, filled, meets, readable
from kafka_edu.instruments.presenter.script import SURE, Script, ScriptAct, Step
from kafka_edu.supervisor.act_table import ACTS, ZOOKEEPER_KEY
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Level
from kafka_edu.trace.events.spark import JobStarted
from kafka_edu.trace.events.supervisor import ActionAsked, ActionDone

MAX_PAST: Final = 10_000
MAX_DIGITS: Final = 12


class Phase(StrEnum):
    NARRATION = "narration"
    QUESTION = "question"
    WATCHING = "watching"
    ANSWER = "answer"
    END = "end"
    """The part after the last step."""


ORDER: Final = (Phase.NARRATION, Phase.QUESTION, Phase.WATCHING, Phase.ANSWER)


class ShowScreen(NamedTuple):
    """Go to a screen of the dashboard."""

    name: str


class StartLoad(NamedTuple):
    options: tuple[str, ...]


class StopLoad(NamedTuple):
    pass


class OpenJobs(NamedTuple):
    """Start the process that runs the script's jobs, so that it is ready before the first job."""


class RunJob(NamedTuple):
    """Run a job of the script. The previous job ends."""

    name: str


class Listen(NamedTuple):
    """Request the events of this level from the processes from now on."""

    level: Level


class Perform(NamedTuple):
    """Carry out an act, and then call `act_done` or `act_failed`."""

    act: ScriptAct


class Watch(NamedTuple):
    """Play the recording from here until the step has seen all expected events."""


class ShowMoment(NamedTuple):
    """Show the dashboard as it was at this time (µs of the monotonic clock)."""

    mono_us: int


class ShowNow(NamedTuple):
    """Show the live cluster's current state, or the latest played moment of the recording."""


class Finish(NamedTuple):
    """The learner has left the last page."""


Effect = (
    ShowScreen
    | StartLoad
    | StopLoad
    | OpenJobs
    | RunJob
    | Listen
    | Perform
    | Watch
    | ShowMoment
    | ShowNow
    | Finish
)


class SavedPlace(NamedTuple):
    """The state that must be saved so that the learner can continue later."""

    step: int
    phase: str
    names: Mapping[str, str]
    choices: Mapping[int, int]
    seen: tuple[bool, ...] = ()
    """Whether each expectation of the current step was met, in the script's order."""
    moments: Mapping[int, int] = {}
    since_us: int = 0
    """When the watching part of the current step began, in µs."""
    sure: Mapping[int, int] = {}
    acts_wait: bool = False
    """Whether the acts of the current step still wait for its job."""


class Missed(NamedTuple):
    """A question that the learner answered wrong."""

    step: int
    """The number of the question's step, from 1."""
    question: str
    right: str
    """The right choice or number, as text."""
    sure: int = 0
    """How sure the learner was: a position in SURE, from 1. 0 if the learner did not say."""


class OtherAct(NamedTuple):
    """An act of the learner that the step does not expect."""

    title: str
    effect: str
    """The effect of the act, in one sentence."""


class Presentation:
    """One run of a script, on a live cluster or on a recording."""

    def __init__(
        self,
        script: Script,
        *,
        live: bool,
        place: SavedPlace | None = None,
        missed_before: Sequence[Missed] = (),
    ) -> None:
        """Begin at the start of the script, or at a saved place.

        `missed_before` are the questions that the learner answered wrong in the previous script.
        The first page shows these questions.
        """
        self.script = script
        self.missed_before = tuple(missed_before)
        self.live = live
        self.rewinds = False
        """Whether the cluster is simulated and can go back to the start of a step."""
        self.step = 0
        """The index of the current step.

        `shown` is the index of the step that the learner looks at.
        """
        self.phase = Phase.NARRATION
        self.shown = 0
        self.names: dict[str, str] = {}
        self.named_us: dict[str, int] = {}
        """Name → the time of the event that bound it (µs)."""
        self.choices: dict[int, int] = {}
        """Each answered step, and the number of the chosen answer or the number that was typed."""
        self.sure: dict[int, int] = {}
        """Each answered step, and how sure the learner was of the answer."""
        self.typed = ""
        """The digits that the learner has typed so far."""
        self.asks_sure = False
        """Whether the learner has just answered and must now say how sure the answer is."""
        self.moments: dict[int, int] = {}
        """Each finished step, and the time at which it ended (µs)."""
        self.seen: list[bool] = []
        self.failure = ""
        """The reason why an act failed, or why no more events can come. Empty if there is no
        failure.
        """
        self.impatient = False
        """Whether the learner pressed space before everything expected was seen."""
        self.since_us = 0
        self.instead: OtherAct | None = None
        """The learner's last act, if it is not the act that the step expects. Otherwise None."""
        self._requested: ActionAsked | None = None
        """The last requested act that the supervisor has not carried out yet."""
        self._acts_left: list[ScriptAct] = []
        self._level = Level.STATE
        self._helped = False
        """Whether the learner pressed space, so that the presenter does the learner's acts."""
        self._job_began = False
        """Whether the job of the current step has begun."""
        self._acts_wait = False
        """Whether the acts of the current step wait for its job."""
        self._past: deque[Envelope] = deque(maxlen=MAX_PAST)
        """The latest facts of a live cluster, which go on arriving while the learner reads."""
        if place is not None:
            self._resume(place)
        self._begins: dict[int, SavedPlace] = {self.step: self.place()}
        """The state at the start of each step, for `again`."""

    def _resume(self, place: SavedPlace) -> None:
        if place.step >= len(self.script.steps):
            self.step = len(self.script.steps) - 1
            self.phase = Phase.END
        else:
            self.step = place.step
            self.phase = Phase(place.phase)
        self.shown = self.reached
        self.names, self.choices = dict(place.names), dict(place.choices)
        self.sure = dict(place.sure)
        self.moments, self.since_us = dict(place.moments), place.since_us
        self.seen = [False] * len(self.present.expectations)
        for at, was_seen in enumerate(place.seen[: len(self.seen)]):
            self.seen[at] = was_seen
        if self.live and place.acts_wait:
            self._acts_left, self._acts_wait = list(self.present.acts), True

    def place(self) -> SavedPlace:
        """Return the state to save."""
        return SavedPlace(
            self.step,
            self.phase.value,
            dict(self.names),
            dict(self.choices),
            tuple(self.seen),
            dict(self.moments),
            self.since_us,
            dict(self.sure),
            self.watching and self._acts_wait,
        )

    def missed(self) -> list[Missed]:
        """Return the questions that the learner answered wrong.

        First come the questions for which the learner was most sure of the answer. Questions with
        the same sureness are in the script's order.
        """
        missed = [
            Missed(
                number + 1,
                readable(step.ask.question, self.names),
                readable(step.ask.right_words(self.names), self.names),
                self.sure.get(number, 0),
            )
            for number, step in enumerate(self.script.steps)
            if step.ask is not None and step.ask.missed(self.choices.get(number), self.names)
        ]
        return sorted(missed, key=lambda one: -one.sure)

    def judged(self) -> dict[int, list[bool]]:
        """Return how often the learner was right, by how sure the learner was.

        A key is an answer to "How sure are you?": its position in SURE, from 1. The value has one
        entry for each question with that key: whether the learner's answer to the question was
        right.
        """
        judged: dict[int, list[bool]] = {}
        for number, sure in sorted(self.sure.items(), key=lambda item: -item[1]):
            ask = self.script.steps[number].ask
            if ask is not None and ask.has_answer:
                right = not ask.missed(self.choices.get(number), self.names)
                judged.setdefault(sure, []).append(right)
        return judged

    @property
    def present(self) -> Step:
        return self.script.steps[self.step]

    @property
    def reached(self) -> int:
        """Return the index of the furthest page. The end of the script is a page of its own."""
        return self.step + (self.phase is Phase.END)

    @property
    def looking_back(self) -> bool:
        return self.shown < self.reached

    @property
    def watching(self) -> bool:
        return self.phase is Phase.WATCHING

    @property
    def waits(self) -> bool:
        """Return whether the watching part still waits for an act or an expected event."""
        return self.watching and not (self._all_seen and not self._acts_left)

    @property
    def acts_left(self) -> bool:
        """Return whether acts of this step must still be carried out."""
        return bool(self._acts_left)

    @property
    def your_turn(self) -> bool:
        """Return whether the learner should act now, with the dashboard's keys or in a shell."""
        return self.waits and self.present.hands and bool(self._acts_left) and not self._helped

    @property
    def _all_seen(self) -> bool:
        return all(self.seen)

    def begin(self) -> list[Effect]:
        """Show the first page, or the page at which the learner stopped last time."""
        step = self.present
        effects = self._stage_of(step)
        load = self.load()
        if self.live and load is not None and not self.rewinds:
            effects.append(StartLoad(load))
        if self.live and any(each.job for each in self.script.steps):
            effects.append(OpenJobs())
            effects += [RunJob(job) for job in self._last_job()]
        if self.phase is Phase.WATCHING:  # its acts were already carried out, or wait for the job
            effects.append(Watch())
        return effects

    def load(self) -> tuple[str, ...] | None:
        """Return the options of the load that must run at this step.

        The load ended when the learner left, so it has to start again. In a simulated cluster it
        still runs. A load that ends by itself must run only while its own step is watched.
        """
        begun = self.phase in (Phase.WATCHING, Phase.ANSWER, Phase.END)
        load = None
        for number, step in enumerate(self.script.steps[: self.step + begun]):
            is_watched = number == self.step and self.phase is Phase.WATCHING
            if step.stop_load:
                load = None
            elif step.load is not None:
                load = step.load if is_watched else step.lasting_load
        return load

    def _last_job(self) -> list[str]:
        """Return the job that must run at this step, or an empty list.

        The job ended when the learner left, so it has to start again.
        """
        begun = self.phase in (Phase.WATCHING, Phase.ANSWER, Phase.END)
        return [step.job for step in self.script.steps[: self.step + begun] if step.job][-1:]

    def go_on(self, now_us: int) -> list[Effect]:
        """Go to the next part or step, because the learner pressed space. O(expectations)."""
        if self.looking_back:
            self.shown += 1
            return self._show(self.shown)
        match self.phase:
            case Phase.WATCHING if self._acts_left and (self.failure or self.your_turn):
                self.failure, self._helped, self._acts_wait = "", True, False
                return [Perform(self._acts_left[0])]
            case Phase.WATCHING if self.waits and not self.impatient and not self.failure:
                self.impatient = True
                return []
            case Phase.QUESTION if self.typed:
                self._answered(int(self.typed))
                return []
            case Phase.END:
                return [Finish()]
        return self._enter(self.phase, now_us)

    def choose(self, number: int, now_us: int) -> list[Effect]:
        """Handle a digit that the learner typed. Do nothing if it fits no choice.

        The digit is the learner's choice (from 1), a digit of a number, or how sure the learner is.
        """
        ask = self.present.ask
        if not self.can_choose or ask is None:
            return []
        if self.asks_sure:
            if not 1 <= number <= len(SURE):
                return []
            self.sure[self.step] = number
            return self._enter(self.phase, now_us)
        if ask.number is not None:
            self.typed = (self.typed + str(number))[:MAX_DIGITS]
        elif 1 <= number <= len(ask.choices):
            self._answered(number)
            if not ask.has_answer:
                return self._enter(self.phase, now_us)
        return []

    def erase(self) -> bool:
        """Delete the last typed digit. Return whether there was one."""
        erased = bool(self.typed) and self.can_choose
        if erased:
            self.typed = self.typed[:-1]
        return erased

    def _answered(self, said: int) -> None:
        self.choices[self.step] = said
        self.typed, self.asks_sure = "", True

    @property
    def can_choose(self) -> bool:
        """Return whether the learner can answer a question now."""
        return self.phase is Phase.QUESTION and not self.looking_back

    def back(self) -> list[Effect]:
        """Show the step before. The cluster and the presentation's own state do not change."""
        if self.shown == 0:
            return []
        self.shown -= 1
        return self._show(self.shown)

    def apply(self, envelope: Envelope) -> bool:
        """Process one event. Return whether it was the last event that the step waited for."""
        if self.live and (known := EVENT_TYPES.get(envelope.name)) and known.kind is Kind.FACT:
            self._past.append(envelope)
            self._look_at_act(envelope)
            self._look_at_job(envelope)
        return self._look_at(envelope)

    def _look_at(self, envelope: Envelope) -> bool:
        """Process one event. If it has bound a name, look at the earlier events again.

        An expectation may contain a name, such as `{leader}`, whose value comes from the event of
        another process. If that process is busy, it sends its event late. So the expected event may
        arrive first, and is recognized only when the name has its value.
        """
        if not self.watching or self._all_seen:
            return False
        known = len(self.names)
        done = self._sees(envelope)
        while not done and len(self.names) > known:
            known = len(self.names)
            done = any(self._sees(past) for past in self._in_order())
        return done

    def _sees(self, envelope: Envelope) -> bool:
        """Compare one event with all expectations of the step. Return whether all of them are met
        now.
        """
        if self.live and envelope.mono_us < self.since_us:
            return False  # the event is older than this step
        for at, expectation in enumerate(self.present.expectations):
            if not self.seen[at] and meets(expectation, envelope, self.names):
                bound = bound_by(expectation, envelope)
                self.names |= bound
                self.named_us |= dict.fromkeys(bound, envelope.mono_us)
                self.seen[at] = True
                if self._all_seen:
                    self.failure = ""
                    if self.present.hands:
                        self._acts_left = []  # the learner has done the act
                    self.moments[self.step] = envelope.mono_us
                    return True
        return False

    def _in_order(self) -> list[Envelope]:
        return sorted(self._past, key=lambda past: past.mono_us)

    def _look_at_job(self, envelope: Envelope) -> None:
        if self.watching and envelope.mono_us >= self.since_us:
            match envelope.event:
                case JobStarted(job=name) if name == self.present.job:
                    self._job_began = True

    def _look_at_act(self, envelope: Envelope) -> None:
        """Remember an act of the learner that the step does not expect.

        If the script names a broker by its number, the same act on a different broker counts as
        unexpected. If the script names a role such as "the controller", the act may be on any
        broker, because the role may have moved to another broker since.
        """
        if not self.your_turn or envelope.mono_us < self.since_us:
            return
        match envelope.event:
            case ActionAsked(action=action) as requested if action in ACTS:
                self._requested = requested
            case ActionDone(action=action, ok=ok) if (
                self._requested is not None and self._requested.action == action
            ):
                if ok:
                    self._acted(self._requested)
                self._requested = None

    def _acted(self, requested: ActionAsked) -> None:
        """Record an act of the learner, whether the step expects it or not."""
        expected = any(self._is(act, requested) for act in self._acts_left)
        did = OtherAct(requested.title, ACTS[requested.action].effect)
        self.instead = None if expected else did
        self._acts_left = [
            act
            for act in self._acts_left
            if act.name != requested.action or self._title(act) != requested.title
        ]

    def _is(self, act: ScriptAct, requested: ActionAsked) -> bool:
        """Return whether the act that the learner requested can be the act `act` of the script."""
        target = filled(
            str(act.values.get(ZOOKEEPER_KEY, act.values.get("broker", "0"))), self.names
        )
        same = not target.isdecimal() or self._title(act) == requested.title
        return act.name == requested.action and same

    def _title(self, act: ScriptAct) -> str:
        values: dict[str, object] = {
            key: filled(str(value), self.names) for key, value in act.values.items()
        }
        return ACTS[act.name].title_with(values)

    def texts(self) -> list[str]:
        """Return the texts that the step still waits to see on the screen."""
        if not self.watching:
            return []
        return [
            filled(expectation.text, self.names)
            for at, expectation in enumerate(self.present.expectations)
            if expectation.text and not self.seen[at]
        ]

    def see(self, text: str, now_us: int) -> bool:
        """Process the text of the screen.

        Return whether the step has now seen everything it waits for.
        """
        if not self.watching or self._all_seen:
            return False
        for at, expectation in enumerate(self.present.expectations):
            wanted = filled(expectation.text, self.names)
            if not self.seen[at] and wanted and wanted in text:
                self.seen[at] = True
        if self._all_seen:
            self.failure = ""
            self.moments[self.step] = now_us
        return self._all_seen

    def skip_texts(self) -> None:
        """Count all expected texts as seen, because there is no screen."""
        for at, expectation in enumerate(self.present.expectations):
            if self.watching and expectation.text:
                self.seen[at] = True

    def act_done(self) -> list[Effect]:
        """Record that an act was carried out. Return the effect that starts the next act."""
        self._acts_left = self._acts_left[1:]
        return [Perform(self._acts_left[0])] if self._acts_left else []

    def act_failed(self, why: str) -> None:
        self.failure = why

    def ended(self) -> None:
        """Record that the recording has ended. A step that still waits shows a failure."""
        if self.waits:
            self.failure = "the recording ended without it"

    def after_seen(self, now_us: int) -> list[Effect]:
        """Return the effects that follow without a key press, after events were taken.

        The acts of a step begin when its job has begun. The answer is shown when everything the
        step waits for was seen.
        """
        if self._job_began and self._acts_wait:
            self._acts_wait = False
            return [Perform(act) for act in self._acts_left[:1]]
        if self.watching and not self.waits and self.present.ask is not None:
            return self._enter(self.phase, now_us)
        return []

    def _enter(self, after: Phase, now_us: int) -> list[Effect]:
        """Go to the next part that the step has, or to the next step."""
        self.typed, self.asks_sure = "", False
        for phase in ORDER[ORDER.index(after) + 1 :]:
            if self._has(phase):
                self.phase = phase
                return self._begin_watching(now_us) if phase is Phase.WATCHING else []
        self.moments.setdefault(self.step, now_us)
        if self.step + 1 >= len(self.script.steps):
            self.phase = Phase.END
            self.shown = self.reached
            return []
        self.step += 1
        self.shown = self.step
        self.phase = Phase.NARRATION
        self.seen, self.failure, self.impatient = [], "", False
        self._begins[self.step] = self.place()
        return self._stage_of(self.present)

    def may_begin_again(self) -> bool:
        """Return whether the shown step can begin again: its acts have begun, and the cluster is
        simulated.
        """
        acted = self.looking_back or self.phase in (Phase.WATCHING, Phase.ANSWER)
        return self.rewinds and acted and self.shown in self._begins

    def begin_of(self, at_us: int) -> SavedPlace | None:
        """Return the place at the start of the step that was shown at this time (µs).

        Return None if that step began before the presentation was resumed.
        """
        steps = [each for each in self._begins if self.began_us(each) <= at_us]
        return self._begins[max(steps)] if steps else None

    def began_us(self, step: int) -> int:
        """Return the time (µs) at which a step began, which is the end of the step before it.

        Return 0 for the first step.
        """
        return self.moments.get(step - 1, 0)

    def step_begun(self) -> tuple[SavedPlace, int]:
        """Return the state at the start of the current step, and its time (µs)."""
        return self._begins[self.step], self.began_us(self.step)

    def went_back(self, now_us: int) -> list[Effect] | None:
        """Begin a step again, because the simulated cluster has gone back to the time `now_us`.

        The step is the one that was shown at that time. Return the effects. Return None if the
        current step continues, because it began to act before that time.
        """
        earlier = (each for each in self._begins if self.began_us(each) <= now_us)
        step = max(earlier, default=min(self._begins))  # after a bookmark the first ones are gone
        acts = self.phase in (Phase.WATCHING, Phase.ANSWER, Phase.END)
        if step == self.step and not (acts and self.since_us >= now_us):
            return None
        place = self._begins[step]
        self._begins = {each: one for each, one in self._begins.items() if each <= step}
        self._past.clear()
        self._acts_left, self._acts_wait, self._helped = [], False, False
        self.typed, self.asks_sure, self.failure, self.impatient = "", False, "", False
        self._resume(place)
        return self._stage_of(self.present)

    def _stage_of(self, step: Step) -> list[Effect]:
        """Return the effects that prepare a step: the level of events and the screen."""
        effects: list[Effect] = []
        if self.live and step.level is not self._level:
            self._level = step.level
            effects.append(Listen(step.level))
        if step.screen:
            effects.append(ShowScreen(step.screen))
        return effects

    def _has(self, phase: Phase) -> bool:
        step = self.present
        match phase:
            case Phase.QUESTION | Phase.ANSWER:
                return step.ask is not None
            case Phase.WATCHING:
                return happens(step)
        return True

    def _begin_watching(self, now_us: int) -> list[Effect]:
        step = self.present
        self.seen = [False] * len(step.expectations)
        self.failure, self.impatient, self.since_us = "", False, now_us
        self._helped, self.instead, self._requested = False, None, None
        if step.show:
            self.names |= self.script.pictures[step.show].names
        effects: list[Effect] = []
        if self.live:
            if step.load is not None:
                effects.append(StartLoad(step.load))
            if step.stop_load:
                effects.append(StopLoad())
            if step.job:
                effects.append(RunJob(step.job))
            self._acts_left = list(step.acts)
            self._job_began = False
            self._acts_wait = bool(step.job and step.acts) and not (step.hands or step.acts_first)
            if not step.hands and not self._acts_wait:
                effects += [Perform(act) for act in self._acts_left[:1]]
            if step.hands or not (step.acts or step.job):
                self._look_back()
        effects.append(Watch())
        return effects

    def _look_back(self) -> None:
        """Also look at the earlier events: those that came after the end of the last step, while
        the learner was reading.
        """
        if self.step:
            self.since_us = self.moments[self.step - 1] + 1
        for envelope in self._in_order():
            self._look_at_act(envelope)
            self._look_at(envelope)

    def _show(self, step: int) -> list[Effect]:
        """Return the effects that show an earlier step, or the present one again."""
        screen = self.script.steps[min(step, self.step)].screen
        effects: list[Effect] = [ShowScreen(screen)] if screen else []
        if step == self.reached:
            return [*effects, ShowNow()]
        return [*effects, ShowMoment(self.moments[step])] if step in self.moments else effects


def happens(step: Step) -> bool:
    """Return whether the step has a watching part between the question and the answer."""
    return bool(
        step.acts
        or step.expectations
        or step.show
        or step.compare
        or step.load is not None
        or step.stop_load
        or step.job
    )


def resolve(act: ScriptAct, names: Mapping[str, str], knows: "Knows") -> dict[str, int | str]:
    """Return the values of an act, with bound names filled in and roles replaced by broker ids.

    Raises UnknownTargetError if no broker or server has the named role now.
    """
    values: dict[str, int | str] = {}
    for key, value in act.values.items():
        find = _find_server if key == ZOOKEEPER_KEY else find_target
        values[key] = find(filled(value, names), knows) if isinstance(value, str) else value
    return values


class UnknownTargetError(Exception):
    """No broker or server has this role now. The message says what is not known."""


class Knows(NamedTuple):
    """The known state of the cluster: controller, leaders, ISRs and ZooKeeper servers."""

    controller: int
    partitions: Mapping[str, tuple[int, Sequence[int]]]
    zookeeper_leader: int | None = None
    """The id of the ZooKeeper server that leads, or None."""
    zookeepers: Sequence[int] = ()
    """The ids of the ZooKeeper servers that run."""


def _find_server(words: str, knows: Knows) -> int:
    if words.isdecimal():
        return int(words)
    if knows.zookeeper_leader is None:
        raise UnknownTargetError("no ZooKeeper server leads now")
    if words == "leader":
        return knows.zookeeper_leader
    for server in knows.zookeepers:
        if server != knows.zookeeper_leader:
            return server
    raise UnknownTargetError("no ZooKeeper server follows now")


def find_target(words: str, knows: Knows) -> int | str:
    """Return the id of the broker that has this role now. Other words are returned as they are.

    For a follower, a broker that is not the controller is preferred. If the step killed the
    controller, it would also show the election of the next controller. And if the killed broker
    starts again at once, it may win that election when its old session ends. In that case no event
    shows that the controller was gone.

    Raises UnknownTargetError if no broker has the role.
    """
    if words.isdecimal():
        return int(words)
    if words == "controller":
        if knows.controller < 0:
            raise UnknownTargetError("no broker is the controller now")
        return knows.controller
    if words == "not the controller":
        others = {broker for _, isr in knows.partitions.values() for broker in isr}
        others.discard(knows.controller)
        if knows.controller < 0 or not others:
            raise UnknownTargetError("no broker is known that is not the controller")
        return min(others)
    role, of, partition = words.partition(" of ")
    if not of or role not in ("leader", "follower"):
        return words
    leader, isr = knows.partitions.get(partition, (-1, ()))
    if leader < 0:
        raise UnknownTargetError(f"partition {partition} has no leader now")
    if role == "leader":
        return leader
    followers = [replica for replica in isr if replica != leader]
    if not followers:
        raise UnknownTargetError(f"partition {partition} has no follower in sync now")
    return next((each for each in followers if each != knows.controller), followers[0])
