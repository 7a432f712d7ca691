"""Public tests of exercise 13-3. `kafka-edu lab check 13-3` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch, Words
from ..join_rules import Answer, RightBarrier, Row, World

FORM: Final = 'it is ("wait", until_ms) or ("next", [member that is removed])'
LINES: Final = 6


def a(joined: bool = True, timeout_ms: int = 30_000) -> Row:
    """Return the dynamic member a."""
    return Row("a", None, joined, timeout_ms)


def b(joined: bool = True, timeout_ms: int = 60_000) -> Row:
    """Return the dynamic member b."""
    return Row("b", None, joined, timeout_ms)


def static(name: str, joined: bool, timeout_ms: int = 40_000) -> Row:
    """Return a static member."""
    return Row(name, f"instance-{name}", joined, timeout_ms)


class Barrier:
    """The learner's barrier. Each of its answers is compared with RightBarrier's answer."""

    def __init__(
        self, learner: Learner, empty: bool, delay_ms: int = 3_000, began_ms: int = 1_000
    ) -> None:
        self._made = learner.make(empty, delay_ms, began_ms)
        self._right = RightBarrier(empty, delay_ms, began_ms)
        self._story = [
            f"JoinBarrier({empty}, {delay_ms}, {began_ms})",
        ]

    def look(self, now_ms: int, *rows: Row, promised: Sequence[str] = ()) -> Answer:
        """Call `look` once. Raises Mismatch if the answer is wrong."""
        came = self._made.call("look", now_ms, [list(row) for row in rows], list(promised))
        right = self._right.look(now_ms, rows, promised)
        shown = ", ".join(
            f"{row.member}{' static' if row.instance else ''}"
            f"{'' if row.joined else ' has not joined'}, {row.rebalance_timeout_ms}"
            for row in rows
        )
        more = f"; promised {', '.join(promised)}" if promised else ""
        self._story.append(f"look at {now_ms}: {shown or 'no members'}{more}")
        match came:
            case (str(word), tuple(names)):
                same = (word, tuple(sorted(map(str, names)))) == right
            case (str(word), int(until_ms)):
                same = (word, until_ms) == right
            case _:
                asked = f"look({now_ms}, …)"
                raise Mismatch(asked, Words("a word and what belongs to it"), came, FORM)
        if not same:
            raise Mismatch(
                f"look({now_ms}, …)",
                right,
                came,
                self._right.why,
                drawing=tuple(self._story[-LINES:]),
                read="look",
            )
        return right


def test_example(learner: Learner) -> None:
    """the first example of README.md"""
    barrier = Barrier(learner, empty=False)
    barrier.look(1_000, a(), b(joined=False))
    barrier.look(5_000, a(), b(), promised=["c"])
    barrier.look(6_000, a(), b())


def test_empty_example(learner: Learner) -> None:
    """the second example of README.md: an empty group, whose members come one after the other"""
    rows = [Row(name, None, True, 300_000) for name in "abc"]
    barrier = Barrier(learner, empty=True, began_ms=0)
    barrier.look(0, *rows[:1])
    barrier.look(2_000, *rows[:2])
    barrier.look(3_000, *rows[:2])
    barrier.look(4_000, *rows)
    barrier.look(6_000, *rows)
    barrier.look(9_000, *rows)


def test_all_joined_at_once(learner: Learner) -> None:
    """the only member has joined, or there is no member: nobody is missing"""
    Barrier(learner, empty=False).look(1_000, a())
    barrier = Barrier(learner, empty=False)
    barrier.look(1_000, a(joined=False))
    barrier.look(2_000)
    Barrier(learner, empty=False).look(1_000, promised=["p"])


def test_time_out(learner: Learner) -> None:
    """a dynamic member does not come: at the end it is removed"""
    barrier = Barrier(learner, empty=False)
    barrier.look(1_000, a(), b(joined=False), a(joined=False)._replace(member="z"))
    barrier.look(60_999, a(), b(joined=False), a(joined=False)._replace(member="z"))
    barrier.look(61_000, a(), b(joined=False), a(joined=False)._replace(member="z"))


def test_end_is_fixed(learner: Learner) -> None:
    """a member with a longer time-out comes later: the end stays"""
    barrier = Barrier(learner, empty=False)
    late = Row("late", None, True, 300_000)
    barrier.look(1_000, a(), a(joined=False)._replace(member="x"))
    barrier.look(2_000, a(), a(joined=False)._replace(member="x"), late)
    barrier.look(31_000, a(), a(joined=False)._replace(member="x"), late)


def test_promised(learner: Learner) -> None:
    """a promised id keeps the barrier closed, but only until the end"""
    barrier = Barrier(learner, empty=False)
    barrier.look(1_000, a(), promised=["p"])
    barrier.look(30_000, a(), promised=["p", "q"])
    barrier.look(31_000, a(), promised=["q"])


def test_static_stays(learner: Learner) -> None:
    """a static member does not come, and keeps its place"""
    barrier = Barrier(learner, empty=False)
    barrier.look(1_000, a(), static("s", joined=False), b(joined=False))
    barrier.look(61_000, a(), static("s", joined=False), b(joined=False))


def test_only_static(learner: Learner) -> None:
    """only static members are left, and none has joined"""
    barrier = Barrier(learner, empty=False)
    rows = [static("s", joined=False), static("t", joined=False, timeout_ms=20_000)]
    barrier.look(1_000, *rows, b(joined=False))
    barrier.look(61_000, *rows)
    barrier.look(101_000, rows[1])
    barrier.look(110_000, static("t", joined=True))


def test_none_joined(learner: Learner) -> None:
    """only dynamic members, and none has joined: all are removed"""
    barrier = Barrier(learner, empty=False)
    barrier.look(1_000, a(joined=False), b(joined=False))
    barrier.look(61_500, a(joined=False), b(joined=False))


def test_delay_has_a_limit(learner: Learner) -> None:
    """members join all the time, but the delays end"""
    barrier = Barrier(learner, empty=True, began_ms=0)
    rows = [Row("m0", None, True, 8_000)]
    now_ms = 0
    answer = barrier.look(now_ms, *rows)
    while answer[0] == "wait":
        assert isinstance(answer[1], int)
        rows.append(Row(f"m{len(rows)}", None, True, 500_000))
        barrier.look(now_ms + 1, *rows)
        now_ms = answer[1]
        answer = barrier.look(now_ms, *rows)


def test_one_ms_is_left(learner: Learner) -> None:
    """the rebalance time-out is one ms longer than the delay: the further delay lasts one ms"""
    rows = [Row(name, None, True, 3_001) for name in "ab"]
    barrier = Barrier(learner, empty=True)
    barrier.look(1_000, *rows[:1])
    barrier.look(4_000, *rows)
    barrier.look(4_001, *rows)


def test_late_look(learner: Learner) -> None:
    """`look` is called after the end of the delay: the next delay begins then"""
    barrier = Barrier(learner, empty=True, began_ms=500)
    barrier.look(700, a())
    barrier.look(3_650, a(), b())
    barrier.look(6_650, a(), b())
    barrier.look(6_800, a(), b())


def test_no_delay(learner: Learner) -> None:
    """the delay is 0: the barrier of an empty group opens at once"""
    Barrier(learner, empty=True, delay_ms=0).look(1_000, a())


def test_gone_again(learner: Learner) -> None:
    """a member joins and leaves during the delay; a second member leaves too"""
    barrier = Barrier(learner, empty=True)
    barrier.look(1_000, a(), b())
    barrier.look(2_000, a(), b(), a()._replace(member="x"))
    barrier.look(4_000, a())


def test_rebalances(learner: Learner, seed: int) -> None:
    """forty random rebalances"""
    random = Random(f"barrier/{seed}")
    for _ in range(40):
        run(learner, random, static=False)
        run(learner, random, static=True)


def run(learner: Learner, random: Random, static: bool, most: int = 40) -> None:
    """Run one random rebalance until its barrier opens, or for `most` calls of `look`."""
    world = World(random, static)
    empty = random.random() < 0.5
    for _ in range(1 if empty else random.randint(1, 5)):
        world.add(joined=empty)
    now_ms = random.randrange(10_000)
    barrier = Barrier(learner, empty, random.choice((0, 3_000, 7_000)), now_ms)
    for _ in range(most):
        word, until_ms = barrier.look(now_ms, *world.rows.values(), promised=world.promised)
        if word == "next":
            return
        assert isinstance(until_ms, int)
        if random.random() < 0.3:
            now_ms = until_ms
        else:
            now_ms = min(until_ms, now_ms + random.randrange(6_000))
            world.step()
