"""Public tests of exercise 03-3, run by `kafka-edu lab check 03-3`. The learner's class runs in
another process, and the fixture `learner` sends it the calls.
"""

from collections.abc import Callable, Mapping
from random import Random

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..fetch_rules import Place, State, Wanted, draw, right_answer, why

Look = Callable[[int, list[Wanted], Mapping[str, State]], None]
FORM = (
    'an answer is (case, partition) with a case from "A" to "F" or "H", ("G", bytes), or ("wait",'
    " missing bytes)"
)


class CheckedFetch:
    """A DelayedFetch of the learner. Each answer of `look` is compared with the right answer."""

    def __init__(self, learner: Learner, min_bytes: int, wanted: list[Wanted]) -> None:
        self._min_bytes = min_bytes
        self._wanted = wanted
        self._made = learner.make(min_bytes, [list(one) for one in wanted])

    def look_at(self, states: Mapping[str, State]) -> None:
        """Call `look`. Raises Mismatch if the answer is wrong."""
        min_bytes, wanted = self._min_bytes, self._wanted
        came = self._made.call("look", {name: state._asdict() for name, state in states.items()})
        expected = right_answer(min_bytes, wanted, states)
        if came == expected and not isinstance(came[1], bool):
            return
        reason, decides = why(min_bytes, wanted, states)
        match came:
            case (str(), str() | int()):
                pass
            case _:
                reason = FORM
        shown = [decides] if decides is not None else wanted[:2]
        raise Mismatch(
            f"look() of {', '.join(one.name for one in wanted[:4])}, min_bytes {min_bytes:,}",
            expected,
            came,
            reason,
            drawing=tuple(line for one in shown for line in draw(one, states.get(one.name))),
            read="the conditions of one partition, and the sum over all",
        )


@pytest.fixture
def look(learner: Learner) -> Look:
    """A function that makes a DelayedFetch and calls `look`: look(min_bytes, wanted, states)."""

    def check(min_bytes: int, wanted: list[Wanted], states: Mapping[str, State]) -> None:
        CheckedFetch(learner, min_bytes, wanted).look_at(states)

    return check


AT_5 = Place(5, 0, 500)
WEB = Wanted("web-0", AT_5, 1_000, 3)
PAY = Wanted("pay-0", Place(110, 100, 900), 1_000, 3)
END = Place(9, 0, 800)
PAY_END = Place(115, 100, 1_300)


def test_nothing_new(look: Look) -> None:
    """a reader at the end of the log waits (图 6-13)"""
    look(1, [WEB], {"web-0": State(AT_5)})


def test_min_bytes(look: Look) -> None:
    """exactly min_bytes are enough, and more bytes are enough too"""
    for min_bytes in (300, 299, 301):
        look(min_bytes, [WEB], {"web-0": State(END)})


def test_all_partitions(look: Look) -> None:
    """the bytes of all partitions are added up"""
    states = {"web-0": State(END), "pay-0": State(PAY_END)}
    for min_bytes in (301, 700, 701):
        look(min_bytes, [WEB, PAY], states)


def test_max_bytes(look: Look) -> None:
    """at most max_bytes count for each partition"""
    states = {"web-0": State(END), "pay-0": State(PAY_END)}
    look(700, [WEB._replace(max_bytes=200), PAY], states)
    look(600, [WEB._replace(max_bytes=200), PAY], states)


@pytest.mark.parametrize(
    "state",
    [
        State(END, leader=False),
        State(END, replica=False, leader=False),
        None,
        State(END, online=False),
        State(END, leader_epoch=4),
        State(END, diverging=True),
    ],
    ids=["A", "B", "C", "D", "E", "H"],
)
def test_cases(look: Look, state: State | None) -> None:
    """a fault that more waiting cannot repair ends the wait"""
    look(5_000, [WEB], {"web-0": state} if state is not None else {})


def test_far_behind(look: Look) -> None:
    """a reader in an older segment is far behind, and gets its answer"""
    look(5_000, [WEB], {"web-0": State(Place(130, 100, 40))})


def test_truncated(look: Look) -> None:
    """a log that was truncated below the reader's segment ends the wait"""
    look(1, [PAY], {"pay-0": State(Place(80, 0, 7_000))})


def test_truncated_in_the_segment(look: Look) -> None:
    """a log that was truncated inside the reader's segment has no bytes for it"""
    look(1, [PAY], {"pay-0": State(Place(105, 100, 400))})
    states = {"web-0": State(END), "pay-0": State(Place(105, 100, 400))}
    look(300, [WEB, PAY], states)


def test_just_rolled(look: Look) -> None:
    """a reader at the end of a log that has just begun a new segment is not far behind"""
    look(1, [Wanted("web-0", Place(100, 0, 9_000), 1_000, 3)], {"web-0": State(Place(100, 100, 0))})
    look(1, [Wanted("web-0", Place(100, 100, 0), 1_000, 3)], {"web-0": State(Place(100, 0, 9_000))})


def test_throttled(look: Look) -> None:
    """a throttled follower gets no answer because of its bytes, or because it is far behind"""
    look(300, [WEB], {"web-0": State(END, throttled=True)})
    look(300, [WEB], {"web-0": State(Place(130, 100, 40), throttled=True)})
    states = {"web-0": State(END, throttled=True), "pay-0": State(PAY_END)}
    look(400, [WEB, PAY], states)
    look(401, [WEB, PAY], states)


def test_throttled_and_truncated(look: Look) -> None:
    """a throttled follower gets an answer when the log was truncated"""
    look(300, [PAY], {"pay-0": State(Place(80, 0, 7_000), throttled=True)})


def test_error_behind_enough(look: Look) -> None:
    """an error in a later partition counts, even if the first partition has enough bytes"""
    states = {"web-0": State(END), "pay-0": State(PAY_END, leader=False)}
    look(100, [WEB, PAY], states)


def test_first_of_two(look: Look) -> None:
    """if two partitions end the wait, the first one in the request is returned"""
    states = {"web-0": State(END, online=False), "pay-0": State(PAY_END, leader=False)}
    look(100, [PAY, WEB], states)
    look(100, [WEB, PAY], states)


def test_many(look: Look, seed: int) -> None:
    """hundreds of looks at random states"""
    random = Random(seed)

    def rarely() -> bool:
        return random.random() < 0.06

    for _ in range(250):
        wanted, states = [], {}
        for number in range(random.randint(1, 4)):
            name = f"{random.choice(('web', 'pay', 'log'))}-{number}"
            segment = random.choice((0, 1_000))
            offset = segment + random.randint(1, 900)
            place = Place(offset, segment, (offset - segment) * 10)
            wanted.append(
                Wanted(name, place, random.choice((50, 400, 10_000)), random.randint(1, 3))
            )
            ahead = random.choice((0, 0, random.randint(1, 60), random.randint(1, 60)))
            end = Place(offset + ahead, segment, place.position + 10 * ahead)
            if rarely():
                end = Place(offset - 1, segment, place.position - 10)
            elif rarely():
                end = Place(random.choice((offset, 950, 1_400)), 1_000 - segment, 77)
            if not rarely():
                epoch = wanted[-1].epoch + rarely()
                states[name] = State(
                    end, epoch, not rarely(), not rarely(), not rarely(), rarely(), rarely()
                )
        look(random.choice((1, 100, 300, 600, 1_000)), wanted, states)
