"""The events for exercise 03-4, in which three threads use the wrong purgatory. Each learner gets
different events.
"""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..purgatory_world import PurgatoryWorld
from .starter import Purgatory, Thread

TIMEOUT_MS: Final = 30_000
KEYS: Final = ("web-0", "web-1", "pay-0", "log-0")
OPERATIONS: Final = 6
HANDLERS: Final = 3
SLOW: Final = 0.15


class Line(NamedTuple):
    """One event of the run."""

    time_ms: int
    handler: int
    """The number of the handler thread, from 1. 0 is the reaper, which ends expired operations."""
    operation: int
    """The number of the operation; 0 if the event is not about a single operation."""
    text: str
    busy: bool
    """Whether a thread could not get a lock because another thread held it."""


class Found(NamedTuple):
    """The right answers of the exercise."""

    operation: int
    event: int
    """The number of the event at which the wake-up was lost, counted from 1."""


class Run(NamedTuple):
    """One run: its events, the right answers, and its state."""

    lines: tuple[Line, ...]
    found: Found
    world: PurgatoryWorld
    """The state before the time-outs."""


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    shown = []
    for number, line in enumerate(run(seed).lines, 1):
        who = f"handler-{line.handler}" if line.handler else "reaper"
        shown.append(f"{number:>3}  {line.time_ms:>6,} ms  {who:<9}  {line.text}")
    return {"events.txt": "\n".join(shown) + "\n"}


def run(seed: int) -> Run:
    """Return the seed's first random run with exactly one lost wake-up. In this run a second
    operation's lock is busy too, without harm, and a third operation times out because it was never
    ready.
    """
    for number in count():
        made = run_once(Random(f"{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def run_once(random: Random) -> Run | None:
    """Return a run with these random numbers. Return None if it does not have one clear answer."""
    waits_for = tuple(
        (number, tuple(random.sample(KEYS, random.randint(1, 2))))
        for number in range(1, OPERATIONS + 1)
    )
    world = PurgatoryWorld(waits_for)
    jobs: list[int | str] = [number for number, _ in waits_for]
    jobs += random.sample(KEYS, 3)
    # Most requests come before the events, so that the events find operations in the lists.
    jobs.sort(key=lambda job: random.random() + (0.7 if isinstance(job, str) else 0))
    threads: dict[int, tuple[Thread, object]] = {}
    lines: list[Line] = []
    armed_ms: dict[int, int] = {}
    now_ms = random.randint(100, 900)
    while jobs or threads:
        free = [n for n in range(1, HANDLERS + 1) if n not in threads]
        if jobs and free and (not threads or random.random() < 0.5):
            handler = random.choice(free)
            about = jobs.pop(0)
            if isinstance(about, str):
                world, _ = world.do(handler, ("ready", about))
                lines.append(Line(now_ms, handler, 0, f"{about} is ready", busy=False))
            else:
                needs = " and ".join(dict(waits_for)[about])
                text = f"has a new operation {about}, which needs {needs}"
                lines.append(Line(now_ms, handler, about, text, busy=False))
            threads[handler] = _thread(about, waits_for), None
        else:
            # A thread that has just tried without success often sleeps for a while, and keeps the
            # lock.
            slow = [SLOW if lines and _tried(lines, n) else 1.0 for n in threads]
            [handler] = random.choices(list(threads), slow)
            thread, answer = threads[handler]
            try:
                step = thread.send(answer)
            except StopIteration:
                del threads[handler]
                continue
            holders = dict(world.locks)
            world, answer = world.do(handler, step)
            threads[handler] = thread, answer
            if step[0] != "look" or answer:  # a look that finds nothing new is not told
                lines.append(_line(now_ms, handler, step, answer, holders))
            if step[0] == "arm" and isinstance(step[1], int):
                armed_ms[step[1]] = now_ms
        now_ms += random.choice((0, 0, 1, 1, 2, 7))
    left = [number for number, _ in waits_for if number not in world.completed]
    lost = [number for number in left if world.holds(number)]
    if len(lost) != 1 or len(left) < 2:
        return None
    busy = [number for number, line in enumerate(lines, 1) if line.busy]
    of_lost = [number for number in busy if lines[number - 1].operation == lost[0]]
    if len(of_lost) != 1 or len(busy) < 2:
        return None
    for number in sorted(armed_ms, key=lambda one: armed_ms[one]):
        if number in left:
            time_ms = armed_ms[number] + TIMEOUT_MS
            lines.append(Line(time_ms, 0, number, f"operation {number} times out", busy=False))
    return Run(tuple(lines), Found(lost[0], of_lost[0]), world)


def _tried(lines: list[Line], handler: int) -> bool:
    """Return whether the last event of this handler thread is a try that has not succeeded."""
    last = next((line for line in reversed(lines) if line.handler == handler), None)
    return last is not None and last.text.endswith("not yet")


def _thread(about: int | str, waits_for: tuple[tuple[int, tuple[str, ...]], ...]) -> Thread:
    purgatory = Purgatory()
    if isinstance(about, int):
        return purgatory.try_complete_else_watch(about, dict(waits_for)[about])
    return purgatory.check_and_complete(about)


def _line(
    now_ms: int, handler: int, step: tuple[object, ...], answer: object, holders: dict[int, int]
) -> Line:
    """Return the event of a step. `holders` maps each locked operation to the thread that holds its
    lock.
    """
    verb, about = step[0], step[1]
    operation = about if isinstance(about, int) else 0
    named = f"operation {operation}"
    match verb:
        case "lock" if answer:
            text = f"locks {named}"
        case "lock":
            text = f"cannot lock {named}: handler-{holders[operation]} has it"
        case "unlock":
            text = f"unlocks {named}"
        case "try":
            text = f"tries {named}: {'completed' if answer else 'not yet'}"
        case "look":
            text = f"looks at {named}: completed"
        case "watch":
            text = f"puts {named} into the list of {step[2]}"
        case "arm":
            text = f"starts the time-out of {named}"
        case "disarm":
            text = f"cancels the time-out of {named}"
        case _:
            held = answer if isinstance(answer, tuple) else ()
            text = f"reads the list of {about}: {', '.join(map(str, held)) or 'empty'}"
    return Line(now_ms, handler, operation, text, verb == "lock" and not answer)
