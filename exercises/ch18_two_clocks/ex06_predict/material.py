"""The agenda of exercise 18-6. The course's own loop says what runs when."""

from functools import cache
from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..loop_rules import CourseAgenda

NAMES: Final = ("first", "third", "tie", "after_resume", "put_aside", "never", "last", "times")
PROCESSES: Final = ("broker-1", "broker-2", "client")
PAUSED: Final = "broker-2"
UNTIL: Final = 1_000
EVENTS: Final = 12
"""Events 1 to 9 wait at the beginning, and 10 to 12 are added by others."""
QUESTIONS: Final = """\
# 18-6: your agenda

The clock is at 0. These calls were made, in this order:

{calls}

Some events make calls when they run:

{acts}

Then `next(1000)` is called again and again, until it returns `None`.

1. `first`: which event runs first?
2. `third`: which event runs third?
3. `tie`: events {one} and {other} are timers of the same time. Which of them runs first?
4. `after_resume`: which event is the next one after event {resume}?
5. `put_aside`: how many events are put aside by the pause?
6. `never`: how many of the {events} events never run?
7. `last`: which event is the last one that runs?
8. `times`: at how many different times do events run?
"""


class Added(NamedTuple):
    """A call that adds an event. A `soon` has no time."""

    event: int
    process: str
    time: int | None

    def text(self, now: str = "") -> str:
        """Return the call as text. `now` is put before the time, for example "now + "."""
        if self.time is None:
            return f'`soon({self.event}, "{self.process}")`'
        return f'`at({now}{self.time}, {self.event}, "{self.process}")`'


class Program(NamedTuple):
    """The events that wait at the beginning, and the effects that events have when they run."""

    calls: tuple[Added, ...]
    adds: dict[int, Added]
    """Event → what it adds. A time counts from the moment at which it runs."""
    cancels: dict[int, int]
    pause: int
    """The event that pauses `PAUSED`."""
    resume: int
    tie: tuple[int, int]


class Right(NamedTuple):
    """The right answer to one question, and why it is right."""

    answer: int
    why: str


class Made(NamedTuple):
    """A learner's questions, and the right answers."""

    text: str
    answers: dict[str, Right]


class PausingAgenda(CourseAgenda):
    """The course's loop, which also says what a pause has put aside."""

    def put_aside(self, process: str) -> int:
        """Return how many events of the process wait until it is resumed."""
        return len(self._process(process).deferred)


class Ran(NamedTuple):
    """The events that ran, each with its time, and how many the pause had put aside."""

    events: tuple[tuple[int, int], ...]
    put_aside: int


def run(program: Program) -> Ran:
    """Return what runs by `UNTIL`."""
    agenda, put_aside = PausingAgenda(), 0
    for call in program.calls:
        _add(agenda, call)
    ran: list[tuple[int, int]] = []
    while (came := agenda.next(UNTIL)) is not None:
        ran.append(came)
        event, now = came
        if event in program.adds:
            call = program.adds[event]
            _add(agenda, call if call.time is None else call._replace(time=now + call.time))
        if event in program.cancels:
            agenda.cancel(program.cancels[event])
        if event == program.pause:
            agenda.pause(PAUSED)
        if event == program.resume:
            put_aside = agenda.put_aside(PAUSED)
            agenda.resume(PAUSED)
    return Ran(tuple(ran), put_aside)


def _add(agenda: CourseAgenda, call: Added) -> None:
    if call.time is None:
        agenda.soon(call.event, call.process)
    else:
        agenda.at(call.time, call.event, call.process)


def _program(random: Random) -> Program:
    """Return a random program."""
    order = random.sample(range(1, 10), 9)
    timers = order[3:]
    times = random.sample(range(100, 1_000, 50), 5)
    of_timer = dict(zip(timers, [times[0], *times], strict=True))
    pause, resume = sorted(random.sample(timers[2:], 2), key=of_timer.__getitem__)
    free = {pause: "client", resume: "client"}
    processes = {one: free.get(one) or random.choice(PROCESSES) for one in order}
    calls = [Added(one, processes[one], of_timer.get(one)) for one in random.sample(order, 9)]
    acting = [one for one in order if one not in (pause, resume)]
    adding = random.sample(acting, 3)
    adds = {
        adding[0]: Added(10, random.choice(PROCESSES), None),
        adding[1]: Added(11, PAUSED, random.randrange(50, 400, 50)),
        adding[2]: Added(12, random.choice(PROCESSES), random.randrange(50, 400, 50)),
    }
    canceller, cancelled = random.sample(acting, 2)
    tie = (timers[0], timers[1])
    return Program(tuple(calls), adds, {canceller: cancelled}, pause, resume, tie)


@cache
def made(seed: int) -> Made:
    """Return the questions for this seed, and the right answers."""
    put_aside = Random(f"put aside/{seed}").randint(1, 3)
    for number in count():
        program = _program(Random(f"next event/{seed}/{number}"))
        ran = run(program)
        events = [event for event, _ in ran.events]
        fits = (
            ran.put_aside == put_aside
            and {*program.tie, program.pause, program.resume} <= set(events)
            and _at_its_time(program, ran)
            and events[-1] != program.resume
            and 9 <= len(events) < EVENTS
        )
        if fits:
            return Made(_text(program), _answers(program, ran))
    raise AssertionError("count() has no end")


def _at_its_time(program: Program, ran: Ran) -> bool:
    """Return whether both timers of `program.tie` run at the time for which they were set."""
    wanted = {(call.event, call.time) for call in program.calls if call.event in program.tie}
    return wanted <= set(ran.events)


def _answers(program: Program, ran: Ran) -> dict[str, Right]:
    events = [event for event, _ in ran.events]
    row = ", ".join(f"{event} at {time}" for event, time in ran.events)
    first = next(event for event in events if event in program.tie)
    after = events[events.index(program.resume) + 1]
    whole = f"the run is {row}"
    return {
        "first": Right(events[0], f"what is ready runs first, in the order of the calls: {row}"),
        "third": Right(events[2], whole),
        "tie": Right(first, "timers of the same time run in the order in which they were set"),
        "after_resume": Right(
            after, f"what was put aside comes after what is ready, and before the timers: {row}"
        ),
        "put_aside": Right(
            ran.put_aside, f"those of {PAUSED} that came due during the pause: {row}"
        ),
        "never": Right(EVENTS - len(events), f"{len(events)} of {EVENTS} run: {row}"),
        "last": Right(events[-1], whole),
        "times": Right(
            len({time for _, time in ran.events}),
            f"the clock stands still between some of them: {row}",
        ),
    }


def _text(program: Program) -> str:
    acts = [f"* event {event} calls {call.text('now + ')}" for event, call in program.adds.items()]
    acts += [f"* event {event} calls `cancel({one})`" for event, one in program.cancels.items()]
    acts += [f'* event {program.pause} calls `pause("{PAUSED}")`']
    acts += [f'* event {program.resume} calls `resume("{PAUSED}")`']
    return QUESTIONS.format(
        calls="\n".join(f"* {call.text()}" for call in program.calls),
        acts="\n".join(sorted(acts)),
        one=min(program.tie),
        other=max(program.tie),
        resume=program.resume,
        events=EVENTS,
    )


def make(seed: int) -> dict[str, str]:
    """Return the learner's file questions.md, as a dict from its name to its text."""
    return {"questions.md": made(seed).text}
