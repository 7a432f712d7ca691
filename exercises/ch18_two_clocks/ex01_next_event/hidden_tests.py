"""Hidden tests of exercise 18-1: only `kafka-edu lab grade 18-1` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..loop_rules import Judged
from .public_tests import LATER, live


def test_a_long_life(learner: Learner, seed: int) -> None:
    """one world, a thousand calls, and hours between two events"""
    live(Judged(learner), Random(f"long/{seed}"), calls=1_000, span=7_200_000_000_000)


def test_cancelled_while_aside(learner: Learner) -> None:
    """an event is cancelled, or its process is killed, after it was put aside"""
    agenda = Judged(learner)
    for event in (1, 2, 3):
        agenda.soon(event, "broker-1")
    agenda.soon(4, "broker-2")
    agenda.pause("broker-1")
    agenda.pause("broker-2")
    agenda.run(100)
    agenda.cancel(2)
    agenda.kill("broker-2")
    agenda.resume("broker-1")
    agenda.resume("broker-2")
    agenda.run(LATER)


def test_paused_twice(learner: Learner) -> None:
    """a process is paused twice, and one resume lets it go on"""
    agenda = Judged(learner)
    agenda.soon(1, "broker-1")
    agenda.pause("broker-1")
    agenda.run(50)
    agenda.pause("broker-1")
    agenda.soon(2, "broker-1")
    agenda.run(80)
    agenda.resume("broker-1")
    agenda.run(90)
    agenda.resume("broker-1")
    agenda.soon(3, "broker-1")
    agenda.run(LATER)


def test_turn(learner: Learner) -> None:
    """a resume comes before the turn of some ready events: these events keep their places"""
    agenda = Judged(learner)
    agenda.soon(1, "broker-1")
    agenda.soon(2, "broker-2")
    agenda.soon(3, "broker-1")
    agenda.pause("broker-1")
    agenda.next(LATER)
    agenda.resume("broker-1")
    agenda.run(LATER)


def test_many(learner: Learner) -> None:
    """three thousand timers, each set before the one that is due first"""
    agenda = Judged(learner)
    for event in range(3_000):
        agenda.at(3_000 - event, event, "client")
    agenda.run(LATER)
