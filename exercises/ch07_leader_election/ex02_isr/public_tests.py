"""Public tests of exercise 07-2. `kafka-edu lab check 07-2` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch
from ..isr_rules import Follower, right_leaving, right_may_join

TWO: Final = (Follower(0, 5_000), Follower(1, 14_000))
LAG_MS: Final = 10_000


def leave(
    made: LearnerObject,
    isr: Sequence[int],
    followers: Sequence[Follower],
    now_ms: int,
    max_lag_ms: int = LAG_MS,
) -> tuple[int, ...]:
    """Call `leaving`, and return the right answer. Raises Mismatch if the learner's answer is
    wrong.
    """
    expected = right_leaving(isr, followers, now_ms, max_lag_ms)
    pairs = [list(one) for one in followers]
    came = made.call("leaving", list(isr), pairs, now_ms, max_lag_ms)
    if came == expected:
        return expected
    raise Mismatch(
        f"leaving({list(isr)}, …, {now_ms:,}, {max_lag_ms:,})",
        expected,
        came,
        _why(isr, followers, now_ms, max_lag_ms, expected, came),
        drawing=tuple(
            f"broker {one.broker_id}: caught up {now_ms - one.last_caught_up_time_ms:,} ms ago"
            f"{'' if one.broker_id in isr else ', and no member'}"
            for one in followers[:10]
        ),
        read="leaving",
    )


def _why(
    isr: Sequence[int],
    followers: Sequence[Follower],
    now_ms: int,
    max_lag_ms: int,
    expected: Sequence[int],
    came: object,
) -> str:
    if not isinstance(came, tuple):
        return "it is a list of brokers"
    for one in followers:
        broker, ago_ms = one.broker_id, now_ms - one.last_caught_up_time_ms
        if broker in came and broker not in isr:
            return f"broker {broker} is no member: it cannot leave"
        if broker in came and broker not in expected:
            if ago_ms == max_lag_ms:
                return f"for broker {broker} it is exactly {max_lag_ms:,} ms: that is not longer"
            return f"broker {broker} has caught up {ago_ms:,} ms ago: it stays"
        if broker in expected and broker not in came:
            return f"broker {broker} has caught up {ago_ms:,} ms ago, and is a member: it leaves"
    return "the followers that leave, each once, in their order; the leader is none of them"


def join(made: LearnerObject, leo: int, hw: int, epoch_start: int) -> None:
    """Compare the answer of `may_join`. Raises Mismatch."""
    expected = right_may_join(leo, hw, epoch_start)
    came = made.call("may_join", leo, hw, epoch_start)
    if came is expected:
        return
    if expected:
        why = f"it has all below {hw}, and has reached {epoch_start}"
    elif leo < hw:
        why = f"the record at offset {leo} is committed, and it does not have it"
    else:
        why = f"this leader began at {epoch_start}, and it has not come so far"
    raise Mismatch(f"may_join({leo}, {hw}, {epoch_start})", expected, came, why, read="may_join")


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    made = learner.make()
    leave(made, (2, 0, 1), TWO, 15_000)
    leave(made, (2, 0, 1), TWO, 15_001)
    leave(made, (2, 1), TWO, 99_000)
    join(made, 120, 120, 100)
    join(made, 119, 120, 100)
    join(made, 100, 90, 101)


def test_all_leave(learner: Learner) -> None:
    """all followers are too far behind, and the leader stays alone"""
    made = learner.make()
    leave(made, (2, 0, 1), TWO, 60_000)
    leave(made, (2,), TWO, 60_000)
    leave(made, (2,), (), 60_000)


def test_order(learner: Learner) -> None:
    """the result has the order of the followers, not the order of the ISR"""
    made = learner.make()
    leave(made, (0, 2, 1), (Follower(1, 0), Follower(0, 0)), 20_000)


def test_around_the_limit(learner: Learner) -> None:
    """a follower lags for one ms less than the limit, for exactly the limit, or for one ms more"""
    made = learner.make()
    for lag_ms in (1, 500, 30_000):
        for ago_ms in (lag_ms - 1, lag_ms, lag_ms + 1):
            leave(made, (2, 0), (Follower(0, 100_000 - ago_ms),), 100_000, lag_ms)


def test_never_caught_up(learner: Learner) -> None:
    """one follower has never caught up (-1), and a second follower has caught up just now"""
    made = learner.make()
    leave(made, (2, 0, 1), (Follower(0, -1), Follower(1, 50_000)), 50_000)


def test_joins(learner: Learner) -> None:
    """a log ends one record below, at, or above the high watermark and the start of the epoch"""
    made = learner.make()
    for leo in (98, 99, 100, 101):
        for hw in (99, 100):
            for epoch_start in (99, 100, 101):
                join(made, leo, hw, epoch_start)
    join(made, 0, 0, 0)


def test_random(learner: Learner, seed: int) -> None:
    """a hundred random states of a partition"""
    random = Random(f"isr/{seed}")
    made = learner.make()
    for _ in range(100):
        brokers = random.sample(range(8), random.randint(1, 6))
        leader, *others = brokers
        isr = random.sample(brokers, random.randint(1, len(brokers)))
        followers = [Follower(one, random.randrange(40_000)) for one in others]
        leave(made, isr, followers, random.randint(30_000, 50_000), random.randrange(5_000, 20_000))
        join(made, random.randrange(20), random.randrange(20), random.randrange(20))
        assert leader not in others
