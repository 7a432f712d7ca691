"""Public tests of exercise 18-5. `kafka-edu lab check 18-5` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.diagnosis import ASKED
from ...runner.mismatch import Mismatch, Words
from ..broker_rules import RULES, Question, random_question
from .material import WRONG, Run, run

WANTED = "(rule, broker, offset)"


def check(made: LearnerObject, *questions: Question) -> None:
    """Compare the learner's answers with the right ones. Raises Mismatch."""
    for question in questions:
        came = made.call(question.rule, *question.arguments)
        right = question.right()
        if type(came) is not type(right) or came != right:  # 1 is no answer for True
            raise Mismatch(str(question), right, came, question.why(came), read=question.rule)


def marks(hw: int, leo: int, isr: tuple[int, ...], *followers: tuple[int, int]) -> Question:
    """Return a question about the high watermark. A follower is (broker, end of its log)."""
    return Question("high_watermark", (hw, leo, isr, followers))


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the wrong rule, the broker that lacks records, and its first lost record"""
    made = run(material)
    came = learner.make().call("diagnosis")
    match came:
        case (str(rule), int(broker), int(offset)):
            why = _why_not(made, rule, broker, offset)
        case _:
            why = "the answer has three values: the name of a rule, and two numbers"
    if why:
        raise Mismatch(ASKED, Words(WANTED), came, why, read="transcript.sim")


def _why_not(made: Run, rule: str, broker: int, offset: int) -> str:
    """Say what is wrong with a diagnosis. Return an empty text if it is right."""
    if rule != WRONG:
        return {
            "elect": "the new leader was alive and in the ISR, and `elect` gets no other facts",
            "leaving": "only a dead broker left the ISR, and the controller calls no rule for that",
            "may_join": "no broker joined the ISR before the records were lost",
            "cut": "logs were cut only to the end of a leader's log that had lost records already",
        }.get(rule, f"the rules are {', '.join(RULES)}")
    if broker == made.victim:
        return f"broker {broker} had all records, and was killed"
    if broker != made.leader:
        return f"broker {broker} has not become the leader after the kill"
    if offset < made.lost_from:
        return f"broker {broker} has the record at offset {offset}"
    if offset > made.lost_from:
        return f"the record at offset {offset} is not the first one that is lost"
    return ""


def test_a_member_lags(learner: Learner) -> None:
    """one member of the ISR lags: each member in turn"""
    made, isr = learner.make(), (1, 2, 3)
    check(
        made,
        marks(4, 9, isr, (2, 7), (3, 5)),
        marks(4, 9, isr, (2, 9), (3, 5)),
        marks(4, 9, isr, (2, 5), (3, 9)),
        marks(4, 9, isr, (2, 9), (3, 9)),
    )


def test_not_in_the_isr(learner: Learner) -> None:
    """a follower is not in the ISR: the high watermark does not wait for it"""
    made = learner.make()
    check(
        made,
        marks(4, 9, (1, 2), (2, 8), (3, 1)),
        marks(4, 9, (1, 3), (2, 1), (3, 8)),
        marks(4, 9, (1,), (2, 2), (3, 1)),
        marks(4, 9, (1,)),
    )


def test_it_does_not_go_back(learner: Learner) -> None:
    """a member's log end is unknown to the new leader (-1), or is below the high watermark"""
    check(learner.make(), marks(7, 9, (1, 2, 3), (2, 9), (3, -1)), marks(7, 9, (1, 2), (2, 5)))


def test_elect(learner: Learner) -> None:
    """the order of the replicas decides, among those that are alive and in the ISR"""
    check(
        learner.make(),
        Question("elect", ((2, 1, 3), (1, 2, 3), (1, 3))),
        Question("elect", ((2, 1, 3), (3, 2), (1, 3))),
        Question("elect", ((3, 1, 2), (1, 2), (1, 2))),
        Question("elect", ((2, 1, 3), (2,), (1, 3))),
    )


def test_leaving(learner: Learner) -> None:
    """members are silent for less, for exactly, and for more than the limit"""
    silent = ((2, 2_000), (3, 2_001))
    check(
        learner.make(),
        Question("leaving", ((1, 2, 3), silent, 2_000)),
        Question("leaving", ((1, 2), silent, 2_000)),
        Question("leaving", ((1, 2, 3), silent, 1_000)),
    )


def test_may_join(learner: Learner) -> None:
    """a follower is below, at, and above the high watermark and the beginning of the epoch"""
    bounds = [(leo, hw, start) for leo in (4, 5, 6) for hw, start in ((5, 2), (2, 5), (5, 5))]
    check(learner.make(), *(Question("may_join", one) for one in bounds))


def test_cut(learner: Learner) -> None:
    """the leader's log ends earlier, later, and at the same offset"""
    check(learner.make(), *(Question("cut", (60, end)) for end in (51, 60, 75, 0)))


def test_any_question(learner: Learner, seed: int) -> None:
    """a hundred random questions about each rule"""
    random, made = Random(f"any/{seed}"), learner.make()
    for rule in RULES:
        check(made, *(random_question(random, rule) for _ in range(100)))
