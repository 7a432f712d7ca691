"""Public tests of exercise 18-2. `kafka-edu lab check 18-2` runs them. The learner's function runs
in another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Mapping, Sequence
from random import Random

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch, Words
from ..history_rules import FAULTS, LogRow, Notes, SentRow, random_notes, right_faults

ASKED = "broken(…)"


def check(learner: Learner, notes: Notes) -> None:
    """Compare the learner's faults with the right ones. Raises Mismatch."""
    came = learner.run(*notes.arguments())
    drawing = (
        *(f"log {row.offset}: {row.record}, id {row.producer_id}/{row.epoch}" for row in notes.log),
        f"acked: {', '.join(f'{name} at {offset}' for name, offset in notes.acked.items())}",
    )[-14:]
    if not isinstance(came, tuple):
        raise Mismatch(ASKED, Words("a list of (fault, record)"), came, "that is its form")
    found = []
    for one in came:
        match one:
            case (str(fault), str(record)) if fault in FAULTS:
                found.append((fault, record))
            case _:
                words = Words(f"(fault, record), and a fault is one of {', '.join(FAULTS)}")
                raise Mismatch(ASKED, words, one, "that is its form", drawing=drawing)
    right = right_faults(notes)
    for more in found:
        if more not in right:
            why = _why_not(notes, *more)
            raise Mismatch(ASKED, Words(f"not {more}"), more, why, drawing=drawing)
    for missed in sorted(right):
        if missed not in found:
            raise Mismatch(ASKED, missed, Words("no such fault"), _why(*missed), drawing=drawing)
    if len(found) > len(right):
        raise Mismatch(ASKED, Words("each once"), came, "it names a fault twice", drawing=drawing)


def _why(fault: str, record: str) -> str:
    return {
        "lost": f"{record} was acknowledged, and is not at its offset",
        "invented": f"no client has sent {record}",
        "twice": f"{record} is there twice, with the same id and epoch",
        "late": f"a record with a higher number, of the same id and epoch, is before {record}",
    }[fault]


def _why_not(notes: Notes, fault: str, record: str) -> str:
    """Say why this is not a fault."""
    if fault == "invented":
        return f"{record} was sent"
    if fault == "lost" and record not in notes.acked:
        return f"{record} was not acknowledged, so it may be there or not"
    if fault == "lost":
        return f"{record} is at offset {notes.acked[record]}, or its offset is not known"
    ids = {row[2:] for row in notes.log if row.record == record}
    if len(ids) > 1:
        return f"{record} is there under two epochs or ids, which does not count"
    if fault == "late" and ("twice", record) in right_faults(notes):
        return f"{record} is there twice: its second place is not late too"
    return f"of the same id and epoch, nothing before {record} says so"


def sends(*records: str) -> list[SentRow]:
    """Return the rows of records such as p-3: the producer, and the number."""
    return [SentRow(one, one.partition("-")[0], int(one.partition("-")[2])) for one in records]


def logged(*rows: tuple[str, int, int] | str) -> list[LogRow]:
    """Return a log. A record without an id has 7, and epoch 0."""
    return [
        LogRow(offset, *((row, 7, 0) if isinstance(row, str) else row))
        for offset, row in enumerate(rows)
    ]


def notes(
    records: Sequence[str], acked: Mapping[str, int], *log: tuple[str, int, int] | str
) -> Notes:
    return Notes(sends(*records), acked, logged(*log))


P = ("p-0", "p-1", "p-2", "p-3")


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    acked = {"p-0": 0, "p-1": 1, "p-3": 2}
    check(learner, notes(P, acked, "p-0", "p-2", "p-1", "p-2"))


def test_right(learner: Learner) -> None:
    """a run in which nothing is wrong, and one in which nothing happened"""
    check(learner, notes(P, {one: place for place, one in enumerate(P)}, *P))
    check(learner, notes((), {}))


def test_not_acked(learner: Learner) -> None:
    """a record without an acknowledgement may be in the log or not"""
    check(learner, notes(P, {"p-0": 0}, "p-0", "p-2"))


def test_lost(learner: Learner) -> None:
    """an acknowledged record is missing: at the end, and in the middle"""
    check(learner, notes(P, {"p-2": 2, "p-3": 3}, "p-0", "p-1", "p-2"))
    check(learner, notes(P, {"p-1": 1}, "p-0", "p-2", "p-3"))


def test_another_offset(learner: Learner) -> None:
    """an acknowledged record is not at the offset that its acknowledgement says"""
    check(learner, notes(P, {"p-1": 1}, "p-0", "p-2", ("p-1", 7, 1)))


def test_offset_unknown(learner: Learner) -> None:
    """the acknowledgement has no offset (-1): the record may be anywhere, but it must be there"""
    check(learner, notes(P, {"p-1": -1, "p-3": -1}, "p-0", "p-1"))


def test_invented(learner: Learner) -> None:
    """a record that nobody has sent"""
    check(learner, notes(P, {"p-0": 0}, "p-0", ("x-9", 3, 0), "p-1"))


def test_twice(learner: Learner) -> None:
    """a record is in the log twice, with the same id and epoch"""
    check(learner, notes(P, {"p-0": 0}, "p-0", "p-1", "p-1"))


def test_another_epoch(learner: Learner) -> None:
    """a record is in the log twice, but with different epochs or different ids"""
    check(learner, notes(P, {}, "p-0", "p-1", ("p-0", 7, 1), ("p-1", 7, 1)))
    check(learner, notes(P, {}, "p-0", "p-1", ("p-0", 12, 0), ("p-2", 12, 0)))


def test_late(learner: Learner) -> None:
    """a record comes after a record with a higher number"""
    check(learner, notes(P, {}, "p-0", "p-2", "p-1", "p-3"))


def test_two_are_late(learner: Learner) -> None:
    """two records come after a record with a higher number: both are late"""
    check(learner, notes(P, {}, "p-0", "p-3", "p-1", "p-2"))


def test_back_again(learner: Learner) -> None:
    """a batch is written again at the end: it is there twice, and not late"""
    check(learner, notes(P, {}, "p-0", "p-1", "p-2", "p-3", "p-1", "p-2"))


def test_gap(learner: Learner) -> None:
    """numbers may be missing: a record that failed is not stored"""
    check(learner, notes(P, {}, "p-1", "p-3"))


def test_two_producers(learner: Learner) -> None:
    """each producer has an order of its own"""
    records = (*P, "q-0", "q-1", "q-2")
    rows = [("p-2", 7, 0), ("q-0", 8, 0), ("p-3", 7, 0), ("q-2", 8, 0), ("q-1", 8, 0)]
    check(learner, notes(records, {}, *rows))


def test_notes(learner: Learner, seed: int) -> None:
    """forty random runs with some faults"""
    random = Random(f"rule/{seed}")
    for _ in range(40):
        check(learner, random_notes(random, random.randint(1, 30)))
