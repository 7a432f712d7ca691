"""Public tests of exercise 10-1. `kafka-edu lab check 10-1` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch
from ..mark_rules import Follower, State, counts, in_words, right_follower, right_leader

NOW_MS: Final = 50_000


def lead(made: LearnerObject, state: State) -> int:
    """Compare the answer of `leader`, and return the right one. Raises Mismatch."""
    expected = right_leader(state)
    came = made.call("leader", *state.arguments())
    if came == expected and not isinstance(came, bool):
        return expected
    raise Mismatch(
        f"leader(hw={state.hw}, leo={state.leo}, isr={list(state.isr)}, …)",
        expected,
        came,
        _why(state, expected, came),
        drawing=(
            f"the mark so far {state.hw}, the leader's log ends at {state.leo}",
            f"ISR {in_words(state.isr)}",
            *(
                f"broker {one.broker_id}: log end {one.leo}, caught up"
                f" {state.now_ms - one.caught_up_ms:,} ms ago (limit {state.max_lag_ms:,})"
                for one in state.followers[:10]
            ),
        ),
        read="leader",
    )


def _why(state: State, expected: int, came: object) -> str:
    if not isinstance(came, int) or isinstance(came, bool):
        return "it is an offset"
    if came < state.hw:
        return "a leader's mark never falls"
    if came > expected:
        if came > state.leo:
            return f"the leader's own log ends at {state.leo}"
        for one in state.followers:
            if counts(state, one) and one.leo < came:
                member = one.broker_id in state.isr
                because = "is in the ISR" if member else "has caught up lately, and may join"
                return f"broker {one.broker_id} {because}, and its log ends at {one.leo}"
        return f"the mark stays at {expected}"
    for one in state.followers:
        if not counts(state, one) and one.leo <= came:
            return f"broker {one.broker_id} does not count: it is no member, and lags too long"
    return f"all that count have the records below {expected}"


def follow(made: LearnerObject, start: int, leo: int, leader_hw: int) -> None:
    """Compare the answer of `follower`. Raises Mismatch."""
    expected = right_follower(start, leo, leader_hw)
    came = made.call("follower", start, leo, leader_hw)
    if came == expected and not isinstance(came, bool):
        return
    if expected == leader_hw:
        why = "its log has all below the leader's mark"
    elif expected == leo:
        why = f"its log ends at {leo}: it cannot show more"
    else:
        why = f"its log begins at {start}"
    raise Mismatch(f"follower({start}, {leo}, {leader_hw})", expected, came, why, read="follower")


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    made = learner.make()
    one = Follower(1, 15, NOW_MS)
    lead(made, State(8, 15, (0, 1, 2), (one, Follower(2, 8, 48_000)), NOW_MS))
    lead(made, State(8, 15, (0, 1), (one, Follower(2, 8, 30_000)), NOW_MS))
    lead(made, State(8, 15, (0, 1), (one, Follower(2, 12, 49_000)), NOW_MS))
    lead(made, State(8, 15, (0, 2), (Follower(2, -1, NOW_MS),), NOW_MS))
    follow(made, 0, 12, 15)
    follow(made, 20, 30, 15)


def test_alone(learner: Learner) -> None:
    """the leader is alone in the ISR: the high watermark is its log end"""
    made = learner.make()
    lead(made, State(8, 15, (0,), (), NOW_MS))
    lead(made, State(8, 15, (0,), (Follower(1, 3, 0), Follower(2, 4, 0)), NOW_MS))


def test_never_back(learner: Learner) -> None:
    """a follower that counts has a log end below the high watermark"""
    made = learner.make()
    lead(made, State(8, 15, (0, 1), (Follower(1, 15, NOW_MS), Follower(2, 5, NOW_MS)), NOW_MS))
    lead(made, State(8, 15, (0, 1), (Follower(1, 0, NOW_MS),), NOW_MS))


def test_members_that_lag_still_count(learner: Learner) -> None:
    """a follower in the ISR that has not caught up for a minute still counts"""
    made = learner.make()
    lead(made, State(8, 90, (0, 1, 2), (Follower(1, 90, 0), Follower(2, 30, 0)), 60_000))


def test_around_the_limit(learner: Learner) -> None:
    """a follower outside the ISR has caught up at the limit, or one ms before or after it"""
    made = learner.make()
    for lag_ms in (1, 500, 30_000):
        for ago_ms in (lag_ms - 1, lag_ms, lag_ms + 1):
            follower = Follower(1, 11, NOW_MS - ago_ms)
            lead(made, State(8, 15, (0, 2), (follower, Follower(2, 14, 0)), NOW_MS, lag_ms))


def test_one_record(learner: Learner) -> None:
    """one record, step by step, with one follower"""
    made = learner.make()
    assert lead(made, State(0, 1, (0, 1), (Follower(1, 0, NOW_MS),), NOW_MS)) == 0
    follow(made, 0, 1, 0)
    assert lead(made, State(0, 1, (0, 1), (Follower(1, 1, NOW_MS),), NOW_MS)) == 1
    follow(made, 0, 1, 1)


def test_followers(learner: Learner) -> None:
    """a follower's log ends below, at, or above the leader's high watermark, or begins above it"""
    made = learner.make()
    for start in (0, 9, 10, 11):
        for leo in (start, start + 1, 10, 11, 40):
            if leo >= start:
                follow(made, start, leo, 10)


def test_random(learner: Learner, seed: int) -> None:
    """a hundred random states of a partition"""
    random = Random(f"mark/{seed}")
    made = learner.make()
    for _ in range(100):
        lead(made, random_state(random))
        start = random.randrange(20)
        follow(made, start, start + random.randrange(20), random.randrange(50))


def random_state(random: Random) -> State:
    """Return a random state: some followers are in the ISR, and some have caught up recently."""
    brokers = random.sample(range(8), random.randint(1, 5))
    leader, *others = brokers
    leo = random.randrange(10, 60)
    hw = random.randint(0, leo)
    isr = (leader, *(one for one in others if random.random() < 0.6))
    followers = tuple(
        Follower(one, random.randint(-1, leo), NOW_MS - random.randrange(20_000)) for one in others
    )
    return State(hw, leo, isr, followers, NOW_MS)
