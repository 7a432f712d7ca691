"""Hidden tests of exercise 15-3: only `kafka-edu lab grade 15-3` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..table_rules import EVENTS, REQUESTS, STATES
from .public_tests import ask, walk


def test_all_pairs(learner: Learner, seed: int) -> None:
    """every pair of state and event, five times, in any order"""
    random = Random(f"pairs/{seed}")
    made = learner.make()
    pairs = [(state, event) for state in STATES for event in EVENTS] * 5
    random.shuffle(pairs)
    for state, event in pairs:
        ask(made, state, event)


def test_many_ids(learner: Learner, seed: int) -> None:
    """one table decides for twenty ids in turns"""
    random = Random(f"ids/{seed}")
    made = learner.make()
    states = ["Empty"] * 20
    for _ in range(400):
        one = random.randrange(len(states))
        answer = ask(made, states[one], random.choice(EVENTS))
        if answer in STATES:
            states[one] = str(answer) if answer != "Dead" else "Empty"


def test_a_long_life(learner: Learner) -> None:
    """a producer commits and aborts fifty transactions, and each request comes twice"""
    made = learner.make()
    events = ["init"]
    for turn in range(50):
        how = REQUESTS[2 + turn % 2]
        events += ["add", "add", how, how, "written", how, "timeout", "fenced"]
    assert walk(made, events) == "CompleteAbort"
