"""Public tests of exercise 07-1. `kafka-edu lab check 07-1` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch, Words
from ..election_rules import Answer, Case, in_words, right

OFFLINE: Final = "OfflinePartition"
REASSIGN: Final = "ReassignPartition"
PREFERRED: Final = "PreferredReplica"
SHUTDOWN: Final = "ControlledShutdown"
ALL: Final = (OFFLINE, REASSIGN, PREFERRED, SHUTDOWN)


def check(made: LearnerObject, case: Case) -> Answer | None:
    """Call `elect` once, and return the right answer. Raises Mismatch if the learner's answer is
    wrong.
    """
    expected = right(case)
    came = made.call("elect", *case.arguments())
    if came == expected:
        return expected
    raise Mismatch(
        f"elect{tuple(case.arguments())}",
        Words("nobody: None") if expected is None else expected,
        came,
        why(case, expected, came),
        drawing=(
            f"replicas  {in_words(case.replicas)}   (AR: their order decides)",
            f"ISR       {in_words(case.isr)}",
            f"live      {in_words(case.live)}",
            *((f"going     {in_words(case.going)}",) if case.going else ()),
        ),
        read="elect",
    )


def why(case: Case, expected: Answer | None, came: object) -> str:
    """Return a sentence that says why the learner's answer is wrong."""
    if expected is None:
        if case.strategy == PREFERRED:
            return "the first of AR cannot lead, so the leader stays as it is: None"
        if case.strategy == OFFLINE and not case.unclean:
            return (
                "no member of the ISR is alive, and an unclean election is not allowed: the"
                " partition waits"
            )
        return "no replica may lead here"
    leader, isr = expected
    match came:
        case (int(named), tuple()) if named == leader:
            return _why_isr(case, isr)
        case (int(named), _) if named not in case.live:
            return f"broker {named} does not live"
        case (int(named), _) if named in case.going and case.strategy == SHUTDOWN:
            return f"broker {named} is about to shut down itself"
        case (int(named), _) if named not in case.isr and leader in case.isr:
            return f"broker {named} is not in the ISR: the records that it lacks would be lost"
        case (int(named), _) if named in case.replicas:
            return (
                f"broker {leader} comes before broker {named} in AR, and could lead too: the order"
                " of AR decides, not the order of the ISR or of the live brokers"
            )
        case None:
            return f"broker {leader} may lead: {_may(case, leader)}"
    return f"broker {leader} leads: {_may(case, leader)}"


def _may(case: Case, leader: int) -> str:
    if leader not in case.isr:
        return "an unclean election is allowed, and it is the first of AR that lives"
    return "it is the first of AR that lives and is in the ISR"


def _why_isr(case: Case, isr: tuple[int, ...]) -> str:
    if isr and isr[0] not in case.isr:
        return (
            "after an unclean election the leader is alone in the ISR: the others have to copy it"
        )
    if case.strategy == OFFLINE:
        return "the dead leave the ISR, and the others keep their order"
    if case.strategy == SHUTDOWN:
        return "brokers that are about to shut down leave the ISR, and the others keep their order"
    return "this election changes only the leader: the ISR stays as it is, in its order"


def test_example(learner: Learner) -> None:
    """the examples of README.md"""
    check(learner.make(), Case(OFFLINE, (1, 2, 0), (2, 0, 1), (0, 2)))
    check(learner.make(), Case(OFFLINE, (1, 2, 0), (1,), (0, 2)))
    check(learner.make(), Case(OFFLINE, (1, 2, 0), (1,), (0, 2), unclean=True))
    check(learner.make(), Case(PREFERRED, (1, 2, 0), (2, 0), (0, 1, 2)))
    check(learner.make(), Case(SHUTDOWN, (1, 2, 0), (1, 2, 0), (0, 1, 2), (1,)))


def test_topic_leader(learner: Learner) -> None:
    """the partition topic-leader of the book: AR is 1, 2, 0, and the ISR has a different order"""
    for isr in ((2, 0, 1), (0, 1, 2), (0, 2, 1)):
        check(learner.make(), Case(OFFLINE, (1, 2, 0), isr, (0, 2)))
        check(learner.make(), Case(OFFLINE, (1, 2, 0), isr, (2, 0)))


def test_nobody_in_sync(learner: Learner) -> None:
    """the whole ISR is dead: no leader, or an unclean leader that is alone in the new ISR"""
    for unclean in (False, True):
        check(learner.make(), Case(OFFLINE, (3, 1, 2), (3,), (2, 1), unclean=unclean))
        check(learner.make(), Case(OFFLINE, (3, 1, 2), (3, 1), (2,), unclean=unclean))
    check(learner.make(), Case(OFFLINE, (3, 1, 2), (3, 1), (), unclean=True))


def test_unclean_not_needed(learner: Learner) -> None:
    """an unclean election is allowed, but a live broker is in the ISR"""
    check(learner.make(), Case(OFFLINE, (3, 1, 2), (2,), (1, 2), unclean=True))


def test_preferred(learner: Learner) -> None:
    """PreferredReplica: the first broker of AR leads, or there is no change"""
    check(learner.make(), Case(PREFERRED, (1, 2), (2, 1), (1, 2)))
    check(learner.make(), Case(PREFERRED, (1, 2), (2,), (1, 2)))
    check(learner.make(), Case(PREFERRED, (1, 2), (2, 1), (2,)))


def test_reassigned(learner: Learner) -> None:
    """ReassignPartition: the first live in-sync broker of the target leads; the ISR stays"""
    check(learner.make(), Case(REASSIGN, (4, 3), (1, 3, 4), (1, 3, 4)))
    check(learner.make(), Case(REASSIGN, (4, 3), (1, 3, 4), (1, 3)))
    check(learner.make(), Case(REASSIGN, (4, 3), (1, 2), (1, 2, 3, 4), unclean=True))


def test_shutdown(learner: Learner) -> None:
    """ControlledShutdown: a broker that is about to stop gives up the lead and leaves the ISR"""
    check(learner.make(), Case(SHUTDOWN, (1, 2, 0), (0, 1, 2), (0, 1, 2), (1,)))
    check(learner.make(), Case(SHUTDOWN, (1, 2, 0), (0, 1, 2), (0, 1, 2), (1, 2)))
    check(learner.make(), Case(SHUTDOWN, (1, 2), (1,), (1, 2), (1,), unclean=True))


def test_random(learner: Learner, seed: int) -> None:
    """two hundred random elections"""
    random = Random(f"elections/{seed}")
    for _ in range(200):
        check(learner.make(), some(random))


def some(random: Random, brokers: int = 5) -> Case:
    """Return a random election. Most replicas are alive, and most are in the ISR."""
    replicas = tuple(random.sample(range(brokers), random.randint(1, min(brokers, 5))))
    isr = [one for one in replicas if random.random() < 0.7]
    live = [one for one in range(brokers) if random.random() < 0.75]
    going = [one for one in replicas if random.random() < 0.25]
    return Case(
        random.choice(ALL),
        replicas,
        tuple(random.sample(isr, len(isr))),
        tuple(random.sample(live, len(live))),
        tuple(going),
        random.random() < 0.4,
    )
