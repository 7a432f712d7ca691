"""Public tests of exercise 06-3. `kafka-edu lab check 06-3` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner, LearnerObject
from kafka_edu.log.recovery_rule import RecoveryRule

from ...runner.mismatch import Mismatch

_RIGHT: Final = RecoveryRule()


def flush(made: LearnerObject, point: int, up_to: int, end: int) -> int:
    """Check the learner's recovery point after a flush, and return the right point. Raises
    Mismatch.
    """
    expected = _RIGHT.after_flush(point, up_to, end)
    if up_to < point:
        why = f"below {point} all was on the disk already: the point never moves back"
    elif up_to > end:
        why = f"the log ends at {end} now: what was flushed behind that is gone"
    else:
        why = f"below {up_to} all is on the disk now"
    return _compared(made, "after_flush", [point, up_to, end], expected, why)


def truncate(made: LearnerObject, point: int, end: int) -> int:
    """Check the learner's recovery point after a truncation, and return the right point. Raises
    Mismatch.
    """
    expected = _RIGHT.after_truncation(point, end)
    why = (
        f"new records from {end} on are not on the disk yet"
        if end < point
        else f"nothing below {point} was cut off"
    )
    return _compared(made, "after_truncation", [point, end], expected, why)


def delete(made: LearnerObject, point: int, log_start: int) -> int:
    """Check the learner's recovery point after a deletion, and return the right point. Raises
    Mismatch.
    """
    expected = _RIGHT.after_deletion(point, log_start)
    why = (
        f"the log begins at {log_start} now, behind the point"
        if log_start > point
        else f"all records below {point} are on the disk, even if some were deleted"
    )
    return _compared(made, "after_deletion", [point, log_start], expected, why)


def start(made: LearnerObject, point: int, log_start: int, end: int, clean: bool) -> int:
    """Check the learner's recovery point for an opened log, and return the right point. Raises
    Mismatch.
    """
    expected = _RIGHT.at_start(point, log_start, end, clean)
    if clean:
        why = "it was closed in order: all of it is on the disk"
    elif point > end:
        why = f"the log ends at {end}: the point cannot lie behind it"
    elif point < log_start:
        why = f"the log begins at {log_start}: the point cannot lie before it"
    else:
        why = "reading the records does not flush them: the point stays"
    return _compared(made, "at_start", [point, log_start, end, clean], expected, why)


def read(made: LearnerObject, bases: Sequence[int], point: int, clean: bool = False) -> None:
    """Check the learner's list of the segments that a start has to read. Raises Mismatch."""
    expected = tuple(_RIGHT.to_read(bases, point, clean))
    came = made.call("to_read", list(bases), point, clean)
    if came == expected:
        return
    ends = [*bases[1:], None]
    lines = [
        f"segment {base:>5} ends at {'…' if end is None else end:>5}"
        f"   {'read it' if base in expected else 'all of it is below the point'}"
        for base, end in list(zip(bases, ends, strict=True))[:12]
    ]
    raise Mismatch(
        f"to_read({list(bases)}, {point}, {clean})",
        expected,
        came,
        _why_read(bases, point, clean, expected, came),
        drawing=() if clean else (f"the point is {point}", *lines),
        read="to_read",
    )


def _why_read(
    bases: Sequence[int], point: int, clean: bool, expected: Sequence[int], came: object
) -> str:
    if clean:
        return "it was closed in order: nothing is read"
    if not isinstance(came, tuple):
        return "it is a list of base offsets"
    for base in bases:
        if base in expected and base not in came:
            if base == bases[-1]:
                return f"the last segment, {base}, is always read, because its end is not known"
            return f"segment {base} reaches over the point, or lies behind it: it has to be read"
        if base not in expected and base in came:
            return f"all of segment {base} is below the point: to read it costs time for nothing"
    return "each base offset is listed once, in ascending order"


def _compared(
    made: LearnerObject, method: str, arguments: list[object], expected: int, why: str
) -> int:
    came = made.call(method, *arguments)
    if came != expected or type(came) is not int:
        asked = ", ".join(map(str, arguments))
        raise Mismatch(f"{method}({asked})", expected, came, why, read=method)
    return expected


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    made = learner.make()
    flush(made, 10, 30, 35)
    flush(made, 30, 20, 35)
    flush(made, 10, 30, 25)
    truncate(made, 30, 22)
    read(made, [0, 10, 20, 30], 15)
    read(made, [0, 10, 20, 30], 20)
    read(made, [0, 10, 20, 30], 15, clean=True)


def test_flushed_and_cut_off(learner: Learner) -> None:
    """a flush ends late: meanwhile the log was cut off below the end of the flush"""
    made = learner.make()
    flush(made, 20, 30, 20)
    flush(made, 5, 40, 40)
    flush(made, 0, 0, 0)


def test_cut_off(learner: Learner) -> None:
    """a log is cut off below its recovery point, at this point, and above it"""
    made = learner.make()
    for end in (0, 29, 30, 31, 90):
        truncate(made, 30, end)


def test_deleted(learner: Learner) -> None:
    """old records are deleted up to an offset below the recovery point, at it, or above it"""
    made = learner.make()
    for log_start in (0, 29, 30, 31, 90):
        delete(made, 30, log_start)


def test_started(learner: Learner) -> None:
    """a log is opened after a clean end and after a crash, with different recovery points"""
    made = learner.make()
    for point in (0, 10, 15, 40, 55):
        for clean in (True, False):
            start(made, point, 10, 40, clean)


def test_segments(learner: Learner) -> None:
    """the recovery point is at the beginning, at the end, or in the middle of a segment"""
    made = learner.make()
    for point in (0, 1, 9, 10, 11, 29, 30, 31, 500):
        read(made, [0, 10, 30, 31], point)
        read(made, [10, 30], point)
        read(made, [7], point)
        read(made, [0, 10], point, clean=True)
    read(made, [], 0)


def test_random(learner: Learner, seed: int) -> None:
    """a hundred random logs"""
    random = Random(f"recovery/{seed}")
    made = learner.make()
    for _ in range(100):
        bases = sorted(random.sample(range(200), random.randint(1, 8)))
        point, end = random.randrange(220), bases[-1] + random.randint(0, 40)
        read(made, bases, point, clean=random.random() < 0.2)
        start(made, point, bases[0], end, random.random() < 0.3)
        flush(made, min(point, end), random.randrange(240), end)
