"""Public tests of exercise 07-3. `kafka-edu lab check 07-3` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch
from ..truncation_rules import Case, answer_of, epochs_of, right, two_logs

TWO = ((0, 0), (1, 120))
GAP = ((0, 0), (2, 120))


def check(made: LearnerObject, case: Case) -> tuple[int, bool]:
    """Call `cut`, and return the right answer. Raises Mismatch if the learner's answer is wrong."""
    expected = right(case)
    came = made.call("cut", *case.arguments())
    if came == expected and isinstance(came, tuple) and type(came[1]) is bool:
        return expected
    raise Mismatch(
        f"cut{tuple(case.arguments())}",
        expected,
        came,
        _why(case, expected, came),
        drawing=(
            f"the follower's epochs  {_listed(case.epochs)}, LEO {case.leo}, HW {case.hw}",
            f"the leader says        epoch {case.leader_epoch} ends at {case.leader_end}",
        ),
        read="cut",
    )


def _listed(epochs: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(f"<{epoch}, {start}>" for epoch, start in epochs) or "none"


def _why(case: Case, expected: tuple[int, bool], came: object) -> str:
    match came:
        case (int(offset), bool(_)) if offset > case.leo:
            return f"the log ends at {case.leo}: nothing can be cut behind that"
        case (int(offset), bool(_)) if offset == expected[0]:
            if expected[1]:
                return "the cut is complete: the follower does not have to ask the leader again"
            return "the rest may still differ from the leader's log: the follower asks again"
    known = [epoch for epoch, _ in case.epochs]
    if case.leader_end == -1:
        return "the leader knows no such old epoch: the follower cuts at its high watermark"
    if case.leader_epoch == -1:
        return "an old leader names no epoch: its offset counts"
    if not known or known[-1] < case.leader_epoch:
        return "all epochs of the follower are older: the leader's offset counts"
    if case.leader_epoch in known:
        return f"both have epoch {case.leader_epoch}: they agree up to the smaller of its two ends"
    if known[0] > case.leader_epoch:
        return "all epochs of the follower are newer: the leader's log has no record of them"
    return f"it never had epoch {case.leader_epoch}: it cuts at the end of its next older one"


def follow(made: LearnerObject, leader: list[int], follower: list[int], hw: int) -> None:
    """Let a follower ask the leader, and cut its log, until `complete` is True. Then check the rest
    of its log.
    """
    common = 0
    while common < min(len(leader), len(follower)) and leader[common] == follower[common]:
        common += 1
    asked = follower[-1] if follower else -1
    for _ in range(30):
        answer = answer_of(leader, asked)
        case = Case(epochs_of(follower), len(follower), min(hw, len(follower)), *answer)
        offset, complete = check(made, case)
        follower = follower[:offset]
        if complete or not follower:
            break
        asked = follower[-1]
    assert follower == leader[: len(follower)]


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    made = learner.make()
    for answer in ((0, 125), (1, 128), (1, 500), (-1, 128), (-1, -1)):
        check(made, Case(TWO, 130, 100, *answer))
    check(made, Case(GAP, 130, 100, 1, 200))


def test_unknown(learner: Learner) -> None:
    """the leader does not know such an old epoch, so the high watermark decides"""
    made = learner.make()
    for hw in (0, 100, 130):
        check(made, Case(TWO, 130, hw, -1, -1))
    check(made, Case(TWO, 130, 100, 7, -1))
    check(made, Case((), 0, 0, -1, -1))
    check(made, Case((), 5, 9, -1, -1))


def test_an_old_leader(learner: Learner) -> None:
    """the leader's answer has no epoch, only an offset"""
    made = learner.make()
    for end in (0, 119, 130, 200):
        check(made, Case(TWO, 130, 100, -1, end))


def test_both_have_it(learner: Learner) -> None:
    """both logs have the epoch: it ends first in the follower's log, in the leader's, or equally"""
    made = learner.make()
    epochs = ((0, 0), (3, 40), (5, 60))
    for epoch in (0, 3, 5):
        for end in (10, 40, 55, 60, 75, 99):
            check(made, Case(epochs, 75, 50, epoch, end))


def test_missing_between(learner: Learner) -> None:
    """the follower has older and newer epochs, but not the one in the leader's answer"""
    made = learner.make()
    epochs = ((1, 0), (3, 40), (6, 60))
    for epoch in (2, 4, 5):
        for end in (20, 70):
            check(made, Case(epochs, 75, 50, epoch, end))


def test_all_newer_or_older(learner: Learner) -> None:
    """the follower's epochs are all newer or all older than the answer, or it has none"""
    made = learner.make()
    for end in (10, 33):
        check(made, Case(((4, 20), (5, 60)), 75, 50, 2, end))
    check(made, Case(TWO, 130, 100, 5, 128))
    check(made, Case(TWO, 130, 100, 5, 400))
    check(made, Case((), 8, 8, 3, 5))
    check(made, Case((), 8, 8, 3, 50))


def test_two_logs(learner: Learner, seed: int) -> None:
    """a hundred followers cut their logs until each is the beginning of the leader's log"""
    random = Random(f"logs/{seed}")
    made = learner.make()
    for _ in range(100):
        leader, follower = two_logs(random)
        follow(made, leader, follower, random.randint(0, 12))
