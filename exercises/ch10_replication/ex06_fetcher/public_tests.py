"""Public tests of exercise 10-6. `kafka-edu lab check 10-6` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Callable
from random import Random
from typing import Final

import pytest

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch
from ..fetcher_rules import (
    BACKOFF_MS,
    FENCED,
    OUT_OF_RANGE,
    WAITING,
    Answer,
    Epochs,
    FetcherWorld,
    Operation,
    RightFetcher,
)

NOW_MS: Final = 50_000
TWO: Final = ((0, 0), (1, 120))
GAP: Final = ((0, 0), (2, 120))
A, B, C = "lab-0", "lab-1", "lab-2"
Make = Callable[..., "Compared"]


class Compared:
    """A fetcher of the learner's class. Each of its answers is compared with the right one."""

    def __init__(self, learner: Learner, backoff_ms: int = BACKOFF_MS) -> None:
        self._made: LearnerObject = learner.make(backoff_ms)
        self._right = RightFetcher(backoff_ms)
        self._backoff_ms = backoff_ms
        self._now_ms = NOW_MS
        self._story: list[str] = []
        self._last: dict[str, str] = {}
        """The last event of each partition, as words for a message."""

    def follow(self, partition: str, epochs: Epochs) -> None:
        """Follow a partition from now on."""
        self._right.follow(partition, epochs)
        self._note(partition, f"follow({partition!r}, {_listed(epochs)})", "follow")
        self._made.call("follow", partition, [list(pair) for pair in epochs])
        self.plan(self._now_ms)

    def leave(self, partition: str) -> None:
        """Do not follow a partition any more."""
        self._right.leave(partition)
        self._note(partition, f"leave({partition!r})", "leave")
        self._made.call("leave", partition)
        self.plan(self._now_ms)

    def plan(self, now_ms: int) -> dict[str, Operation]:
        """Compare the plan row by row, and return the right one. Raises Mismatch."""
        self._now_ms = now_ms
        expected = self._right.plan(now_ms)
        came = self._made.call("plan", now_ms)
        call = f"plan({now_ms})"
        if not isinstance(came, dict) or came.keys() != expected.keys():
            why = "there is one row for each partition that is followed, and no other"
            raise self._mismatch(call, expected, came, why, "plan")
        for name, row in expected.items():
            seen = tuple(came[name]) if isinstance(came[name], list) else came[name]
            if repr(seen) != repr(row):
                why = self._why(name, row, seen)
                raise self._mismatch(f"{call}[{name!r}]", row, seen, why, "plan")
        return expected

    def answer(self, partition: str, answer: Answer) -> int:
        """Compare the new end of a log. Raises Mismatch."""
        expected = self._right.answer(partition, answer)
        came = self._made.call("answer", partition, *answer.arguments())
        call = f"answer({partition!r}, {', '.join(map(str, answer.arguments()))})"
        if repr(came) != repr(expected):
            raise self._mismatch(
                call,
                expected,
                came,
                _why_cut(answer, expected, came),
                "answer",
                (
                    f"the follower's epochs  {_listed(answer.epochs)}, LEO {answer.leo}, HW"
                    f" {answer.hw}",
                    f"the leader says        epoch {answer.leader_epoch} ends at"
                    f" {answer.leader_end}",
                ),
            )
        self._note(partition, f"{call} → {expected}", "answer")
        self.plan(self._now_ms)
        return expected

    def error(self, partition: str, error: str, now_ms: int | None = None) -> Operation:
        """Compare what a partition does after an error. Raises Mismatch."""
        self._now_ms = self._now_ms if now_ms is None else now_ms
        expected = self._right.error(partition, error, self._now_ms)
        came = self._made.call("error", partition, error, self._now_ms)
        call = f"error({partition!r}, {error!r}, {self._now_ms})"
        if repr(came) != repr(expected):
            raise self._mismatch(call, expected, came, self._why_error(error), "error")
        self._note(partition, f"{call} → {expected}", error)
        self.plan(self._now_ms)
        return expected

    def offsets(self, partition: str, leo: int, leader_start: int, leader_end: int) -> Operation:
        """Compare the operation for a log outside the leader's range. Raises Mismatch."""
        expected = self._right.offsets(partition, leo, leader_start, leader_end)
        came = self._made.call("offsets", partition, leo, leader_start, leader_end)
        call = f"offsets({partition!r}, {leo}, {leader_start}, {leader_end})"
        if repr(came) != repr(expected):
            if leader_end < leo:
                why = "the leader's log ends before ours: ours is cut to the same end"
            elif leader_start > leo:
                why = "the leader has no record that follows ours: begin again at its first one"
            else:
                why = "our end is in the leader's log by now: nothing is to be done"
            raise self._mismatch(call, expected, came, why, "offsets")
        self._note(partition, f"{call} → {expected}", "offsets")
        self.plan(self._now_ms)
        return expected

    def _note(self, partition: str, line: str, what: str) -> None:
        self._story.append(line)
        self._last[partition] = what

    def _mismatch(
        self,
        call: str,
        expected: object,
        came: object,
        why: str,
        read: str,
        drawing: tuple[str, ...] = (),
    ) -> Mismatch:
        story = tuple(self._story[-8:])
        return Mismatch(call, expected, came, why, drawing=(*drawing, *story), read=read)

    def _why(self, name: str, expected: Operation, came: object) -> str:
        """Return one sentence that says why a row of the plan is wrong."""
        last, kind = self._last[name], came[0] if isinstance(came, tuple) and came else None
        match expected[0]:
            case "failed":
                return "it is fenced: only a new `follow` ends that, and no time does"
            case "wait" if kind == "wait":
                return f"it waits from the error on for backoff_ms, {self._backoff_ms} ms"
            case "wait":
                return "it waits: without the back-off it asks thousands of times a second"
        if kind == "wait" and last not in (*WAITING, FENCED):
            return f"{name} has no error: a partition that waits does not stop the others"
        if kind == "wait":
            return "its wait is over: at exactly that ms it continues in its state"
        if kind == "failed":
            return f"after {last} it is not fenced"
        if expected[0] == "fetch":
            return "its log is cut completely: it fetches"
        if last == "answer" and kind == "fetch":
            return "the rest of the log may still differ from the leader's: it asks again"
        if last == "answer":
            return "it asks for the newest epoch that its own log has left"
        if last == "follow":
            return "it is Truncating: it asks for the epoch of its last record, -1 without one"
        return "an error does not end Truncating: after the wait it asks again"

    def _why_error(self, error: str) -> str:
        if error == OUT_OF_RANGE:
            return "only the leader's first and last offset can say what is wrong: look them up"
        if error == FENCED:
            return "the leader has a newer epoch: the controller's next order will come, and helps"
        return f"it may be over soon: wait for backoff_ms, {self._backoff_ms} ms, and try again"


def _listed(epochs: Epochs) -> str:
    return "[" + ", ".join(f"({epoch}, {start})" for epoch, start in epochs) + "]"


def _why_cut(answer: Answer, expected: int, came: object) -> str:
    known = [epoch for epoch, _ in answer.epochs]
    if not isinstance(came, int) or isinstance(came, bool):
        return "it is an offset"
    if answer.leader_end == -1:
        return "the leader knows no epoch that old: the high watermark is all that is left"
    if came > answer.leo:
        return f"the log ends at {answer.leo}: nothing can be cut behind that"
    if answer.leader_epoch not in known and known[0] < answer.leader_epoch:
        return (
            f"it never had epoch {answer.leader_epoch}: all records of newer epochs go, and no more"
        )
    if came > expected:
        return f"the leader does not have the records from {expected} on: they go"
    if came == answer.hw:
        return (
            f"the records from {came} to {expected - 1} are in both logs: the high watermark does"
            " not decide"
        )
    return f"the records from {came} to {expected - 1} are in both logs, and may be acknowledged"


@pytest.fixture
def make(learner: Learner) -> Make:
    """Return a function that makes a fetcher of the learner's class."""
    return lambda backoff_ms=BACKOFF_MS: Compared(learner, backoff_ms)


def fetching(made: Compared, *partitions: str) -> None:
    """Bring the partitions into the state in which they fetch."""
    for name in partitions:
        made.follow(name, TWO)
        made.answer(name, Answer(TWO, 130, 100, 1, 130))


def test_example(make: Make) -> None:
    """the example of README.md"""
    made = make()
    made.follow(A, TWO)
    made.follow(B, GAP)
    made.answer(A, Answer(TWO, 130, 100, 1, 125))
    made.answer(B, Answer(GAP, 130, 100, 1, 200))
    made.error(B, "NOT_LEADER_OR_FOLLOWER", 50_000)
    made.plan(51_000)
    made.answer(B, Answer(((0, 0),), 120, 100, 0, 118))
    made.error(A, FENCED)
    made.follow(A, ((0, 0), (1, 120)))


def test_where_a_log_is_cut(make: Make) -> None:
    """the leader's epoch ends before the follower's epoch, after it, at the same offset, or at 0"""
    made = make()
    for epoch, end in ((1, 128), (1, 500), (1, 130), (0, 125), (0, 120), (0, 118), (0, 0)):
        made.follow(A, TWO)
        made.answer(A, Answer(TWO, 130, 100, epoch, end))


def test_it_is_asked_again(make: Make) -> None:
    """the leader names an epoch that the follower never had, twice"""
    made, epochs = make(), ((0, 0), (2, 40), (5, 90), (7, 95))
    made.follow(A, epochs)
    made.answer(A, Answer(epochs, 99, 60, 4, 200))
    made.answer(A, Answer(epochs[:2], 90, 60, 1, 55))
    made.answer(A, Answer(epochs[:1], 40, 40, 0, 30))
    made.follow(A, epochs[1:])
    made.answer(A, Answer(epochs[1:], 99, 60, 1, 55))
    made.follow(A, epochs[1:])
    made.answer(A, Answer(epochs[1:], 99, 10, 1, 33))


def test_no_epoch(make: Make) -> None:
    """the log has no epoch, or all epochs of the leader are newer"""
    made = make()
    made.follow(A, ())
    made.answer(A, Answer((), 0, 0, -1, -1))
    made.follow(B, ())
    made.answer(B, Answer((), 9, 5, -1, -1))
    made.follow(C, TWO)
    made.answer(C, Answer(TWO, 130, 100, -1, -1))
    made.follow(C, TWO)
    made.answer(C, Answer(TWO, 130, 150, -1, -1))


def test_one_waits_and_the_others_go_on(make: Make) -> None:
    """each error of one partition, while a second one fetches and a third one is Truncating"""
    made = make()
    fetching(made, A, B)
    made.follow(C, TWO)
    for number, error in enumerate(WAITING):
        made.error(A, error, 60_000 + 5_000 * number)
        made.plan(60_100 + 5_000 * number)


def test_how_long_it_waits(make: Make) -> None:
    """two partitions wait: the plan one ms before the end of a wait, at its end, and after it"""
    for backoff_ms in (1, 20, 1_000, 7_000):
        made = make(backoff_ms)
        fetching(made, A, B)
        made.error(A, "UNKNOWN_LEADER_EPOCH", NOW_MS)
        made.error(B, "UNKNOWN_LEADER_EPOCH", NOW_MS + 1)
        for now_ms in (backoff_ms - 1, backoff_ms, backoff_ms + 1, backoff_ms + 9_000):
            made.plan(NOW_MS + now_ms)
        made.error(A, "UNKNOWN_LEADER_EPOCH", NOW_MS + 20_000)
        made.plan(NOW_MS + 20_000 + backoff_ms)


def test_it_goes_on_where_it_was(make: Make) -> None:
    """after an error, the fetcher goes on with the same search: an error before the first answer,
    and an error before the second answer
    """
    made = make()
    made.follow(A, GAP)
    made.error(A, "UNKNOWN_LEADER_EPOCH", NOW_MS)
    made.plan(NOW_MS + BACKOFF_MS)
    made.answer(A, Answer(GAP, 130, 100, 1, 200))
    made.error(A, "NOT_LEADER_OR_FOLLOWER")
    made.plan(NOW_MS + 2 * BACKOFF_MS)
    made.answer(A, Answer(((0, 0),), 120, 100, 0, 200))


def test_fenced(make: Make) -> None:
    """a partition that fetches or is Truncating is fenced; hours later it is followed again"""
    made = make()
    fetching(made, A, B)
    made.follow(C, TWO)
    made.error(A, FENCED)
    made.error(C, FENCED)
    made.plan(NOW_MS + 10_000_000)
    made.error(B, "NOT_LEADER_OR_FOLLOWER")
    made.follow(A, ((0, 0), (4, 120)))
    made.plan(NOW_MS + 20_000_000)


def test_out_of_range(make: Make) -> None:
    """the leader's log ends before the follower's log ends, begins after that, or has that end"""
    made = make()
    fetching(made, A, B)
    made.error(A, OUT_OF_RANGE)
    for start, end in ((0, 129), (0, 130), (0, 131), (130, 200), (131, 200), (500, 500), (0, 0)):
        made.offsets(A, 130, start, end)
    made.error(A, "NOT_LEADER_OR_FOLLOWER")


def test_followed_again(make: Make) -> None:
    """a partition that waits, fetches or is fenced is followed again, or is left"""
    made = make()
    fetching(made, A, B, C)
    made.error(A, "UNKNOWN_LEADER_EPOCH")
    made.error(B, FENCED)
    for name in (A, B, C):
        made.follow(name, ((0, 0), (1, 120), (3, 130)))
    made.error(B, "UNKNOWN_LEADER_EPOCH")
    made.leave(B)
    made.leave(A)
    made.follow(B, TWO)


def test_random(make: Make, seed: int) -> None:
    """random schedules: partitions come and go, and the leader answers or has errors"""
    random = Random(f"fetcher/{seed}")
    for _ in range(6):
        world = FetcherWorld(make(), random, 4)
        world.run(25)
        world.settle()
