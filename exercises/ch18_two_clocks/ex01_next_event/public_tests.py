"""Public tests of exercise 18-1. `kafka-edu lab check 18-1` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner

from ..loop_rules import Judged

LATER: Final = 1_000_000
PROCESSES: Final = ("broker-1", "broker-2", "broker-3", "client")


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    agenda = Judged(learner)
    agenda.at(700, 1, "broker-1")
    agenda.at(300, 2, "broker-2")
    agenda.soon(3, "client")
    assert agenda.run(500) == [(3, 0), (2, 300)]
    agenda.soon(4, "broker-2")
    assert agenda.run(700) == [(4, 500), (1, 700)]


def test_ready(learner: Learner) -> None:
    """ready events run in the order in which they became ready"""
    agenda = Judged(learner)
    for event in (5, 3, 9, 1):
        agenda.soon(event, "client")
    agenda.next(LATER)
    agenda.soon(2, "client")
    agenda.run(LATER)


def test_timers(learner: Learner) -> None:
    """timers run by their time"""
    agenda = Judged(learner)
    for event, time in enumerate((400, 100, 900, 250, 30)):
        agenda.at(time, event, "client")
    agenda.run(LATER)


def test_same_time(learner: Learner) -> None:
    """timers of the same time run in the order in which they were set"""
    agenda = Judged(learner)
    for event in (7, 2, 8, 1, 3):
        agenda.at(500, event, "client")
    agenda.at(400, 9, "client")
    agenda.run(LATER)


def test_ready_first(learner: Learner) -> None:
    """what is ready runs before a timer that is due now"""
    agenda = Judged(learner)
    agenda.at(0, 1, "client")
    agenda.soon(2, "client")
    agenda.at(100, 3, "client")
    agenda.at(100, 4, "client")
    for _ in range(3):
        agenda.next(100)
    agenda.soon(5, "client")
    agenda.run(100)


def test_until(learner: Learner) -> None:
    """a timer runs at `until`, and not after it"""
    agenda = Judged(learner)
    agenda.at(100, 1, "client")
    agenda.at(101, 2, "client")
    agenda.run(99)
    agenda.run(100)
    agenda.run(100)
    agenda.run(101)


def test_clock(learner: Learner) -> None:
    """without an event the clock jumps to `until`, and a new ready event runs at this time"""
    agenda = Judged(learner)
    agenda.run(250)
    agenda.soon(1, "client")
    agenda.at(600, 2, "client")
    agenda.run(400)
    agenda.soon(3, "client")
    agenda.run(900)


def test_past(learner: Learner) -> None:
    """a time that has passed counts as now"""
    agenda = Judged(learner)
    agenda.at(800, 1, "client")
    agenda.at(800, 4, "client")
    agenda.next(LATER)
    agenda.at(300, 2, "client")
    agenda.soon(3, "client")
    agenda.run(LATER)


def test_cancel(learner: Learner) -> None:
    """an event that was cancelled does not run, and the clock does not stop at its time"""
    agenda = Judged(learner)
    for event, time in enumerate((100, 200, 300)):
        agenda.at(time, event, "client")
    agenda.soon(3, "client")
    agenda.soon(4, "client")
    for event in (0, 2, 3):
        agenda.cancel(event)
    agenda.run(LATER)
    agenda.cancel(4)
    agenda.soon(5, "client")
    agenda.run(LATER)


def test_kill(learner: Learner) -> None:
    """no event of a killed process runs, whether it was added before or after"""
    agenda = Judged(learner)
    agenda.soon(1, "broker-1")
    agenda.at(100, 2, "broker-1")
    agenda.at(150, 3, "broker-2")
    agenda.kill("broker-1")
    agenda.soon(4, "broker-1")
    agenda.at(120, 5, "broker-1")
    agenda.run(LATER)


def test_pause(learner: Learner) -> None:
    """the events of a paused process wait, and those of other processes do not"""
    agenda = Judged(learner)
    agenda.at(100, 1, "broker-1")
    agenda.at(200, 2, "broker-2")
    agenda.soon(3, "broker-1")
    agenda.pause("broker-1")
    agenda.run(500)
    agenda.resume("broker-1")
    agenda.soon(4, "broker-1")
    agenda.run(500)


def test_paused_timer(learner: Learner) -> None:
    """a timer of a paused process comes due, and no later timer may run before `until`"""
    agenda = Judged(learner)
    agenda.at(100, 1, "broker-1")
    agenda.at(900, 2, "broker-2")
    agenda.pause("broker-1")
    agenda.run(400)
    agenda.resume("broker-1")
    agenda.run(LATER)


def test_resume(learner: Learner) -> None:
    """after `resume`, events that were put aside run after the events that are ready already"""
    agenda = Judged(learner)
    agenda.soon(1, "broker-1")
    agenda.at(50, 2, "broker-1")
    agenda.pause("broker-1")
    agenda.run(100)
    agenda.soon(3, "broker-2")
    agenda.resume("broker-1")
    agenda.soon(4, "broker-2")
    agenda.run(100)


def test_worlds(learner: Learner, seed: int) -> None:
    """thirty random worlds"""
    random = Random(f"agenda/{seed}")
    for _ in range(30):
        live(Judged(learner), random, calls=40, span=300)


def live(agenda: Judged, random: Random, calls: int, span: int) -> None:
    """Make random calls. Times are at most `span` from now."""
    for event in range(calls):
        process = random.choice(PROCESSES)
        match random.randrange(12):
            case 0 | 1 | 2:
                agenda.soon(event, process)
            case 3 | 4 | 5:
                agenda.at(agenda.now + random.randint(-span // 10, span), event, process)
            case 6 if agenda.waiting:
                agenda.cancel(random.choice(agenda.waiting))
            case 7 if process not in agenda.stopped:
                agenda.pause(process)
            case 8:
                agenda.resume(process)
            case 9 if random.random() < 0.1:
                agenda.kill(process)
            case _:
                agenda.next(agenda.now + random.randint(0, span))
    for process in PROCESSES:
        agenda.resume(process)
    agenda.run(agenda.now + 2 * span)
