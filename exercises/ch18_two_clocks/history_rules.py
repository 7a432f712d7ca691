"""The faults that a rule of 18-2 must find in clients' notes and the log of a partition."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

Fault = tuple[str, str]
"""What is wrong, and with which record."""
FAULTS: Final = ("lost", "invented", "twice", "late")
NO_OFFSET: Final = -1


class SentRow(NamedTuple):
    """A record that a producer was asked to send."""

    record: str
    producer: str
    number: int


class LogRow(NamedTuple):
    """A record of the leader's log."""

    offset: int
    record: str
    producer_id: int
    epoch: int


class Notes(NamedTuple):
    """Everything that a rule gets."""

    sent: Sequence[SentRow]
    acked: Mapping[str, int]
    log: Sequence[LogRow]

    def arguments(self) -> tuple[list[list[object]], dict[str, int], list[list[object]]]:
        """Return the arguments of a learner's function."""
        return [[*row] for row in self.sent], dict(self.acked), [[*row] for row in self.log]


def right_faults(notes: Notes) -> set[Fault]:
    """Return all faults. O(n²), and each rule by itself."""
    numbers = {row.record: row.number for row in notes.sent}
    known = [row for row in notes.log if row.record in numbers]
    faults = {("invented", row.record) for row in notes.log if row.record not in numbers}
    for place, row in enumerate(known):
        before = [one for one in known[:place] if one[2:] == row[2:]]
        if any(one.record == row.record for one in before):
            faults.add(("twice", row.record))
        elif any(numbers[one.record] > numbers[row.record] for one in before):
            faults.add(("late", row.record))
    for record, offset in notes.acked.items():
        places = [row.offset for row in known if row.record == record]
        if not places or offset not in (*places, NO_OFFSET):
            faults.add(("lost", record))
    return faults


def random_notes(random: Random, records: int) -> Notes:
    """Return the notes of two producers, with some faults. Most records have none."""
    next_number = {"p": 0, "q": 0}
    ids = {"p": (7, 0), "q": (8, 0)}
    sent: list[SentRow] = []
    for _ in range(records):
        producer = random.choice("pq")
        number = next_number[producer]
        next_number[producer] = number + 1
        sent.append(SentRow(f"{producer}-{number}", producer, number))
    rows: list[tuple[str, int, int]] = []
    acked: dict[str, int] = {}
    for row in sent:
        if random.random() < 0.05:  # a broker has forgotten its batches
            producer_id, epoch = ids[row.producer]
            ids[row.producer] = producer_id, epoch + 1
        what = random.random()
        if what < 0.1:
            continue  # it is not stored: lost if it is acknowledged
        rows.append((row.record, *ids[row.producer]))
        if what < 0.15:
            rows.append(rows[-1])
        elif what < 0.2 and len(rows) > 2:
            rows[-1], rows[-3] = rows[-3], rows[-1]
        elif what < 0.25:
            producer_id, epoch = ids[row.producer]
            ids[row.producer] = producer_id, epoch + 1
            rows.append((row.record, producer_id, epoch + 1))
        elif what < 0.28:
            rows.append((f"ghost-{len(rows)}", 9, 0))
    log = [LogRow(offset, *one) for offset, one in enumerate(rows)]
    first = {row.record: row.offset for row in reversed(log)}
    for row in sent:
        if random.random() < 0.6:
            place = first.get(row.record, random.randrange(records))
            acked[row.record] = NO_OFFSET if random.random() < 0.1 else place
    return Notes(sent, acked, log)
