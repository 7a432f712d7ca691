"""The corruption table: eleven files, seven kinds of damage, after a clean stop and after kill -9.

`-s` prints the table. docs/corruption.md is the same table, next to what Apache Kafka 2.8.2 does.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_edu.log.log_repairs import RECORDS_MISSING, SEGMENT_DROPPED, TAIL_CUT
from kafka_edu.record.record_batch import iter_headers
from kafka_edu.trace.events.log import LogRepaired
from tests.drawn import drawn
from tests.unit.log.corruption.apache import recorded
from tests.unit.log.corruption.cases import CASES, Case, Damage, Flip, Kind, Planted, path_of
from tests.unit.log.corruption.judge import NO_START, OFFLINE, SERVED
from tests.unit.log.corruption.ours import Found, all_found, run
from tests.unit.log.corruption.page import page, rows
from tests.unit.log.corruption.written import Written, written

PAGE = Path(__file__).parents[4] / "docs" / "corruption.md"
UNREADABLE = (Damage.TRUNCATED, Damage.ZEROED, Damage.WRONG_LENGTH)
"""Damages after which a checkpoint cannot be read. An empty one is a file that Kafka makes."""
FLIPS = 160
"""How many of some thousand flipped bits a run tries."""


@pytest.fixture(scope="module")
def found() -> dict[Case, Found]:
    table = all_found()
    for row in rows(table, recorded()):
        print(" | ".join(row))
    return table


def at_risk(case: Planted, log: Written) -> set[int]:
    """Return the offsets of the damaged file's records. No other record may be lost."""
    bases = log.bases
    if case.kind is Kind.SEGMENT:
        return {offset for offset in log.records if bases[1] <= offset < bases[2]}
    if case.kind is Kind.ACTIVE_SEGMENT:
        return {offset for offset in log.records if bases[2] <= offset}
    return set()


@pytest.mark.parametrize("case", CASES, ids=[case.topic for case in CASES])
def test_what_becomes_of(case: Case, found: dict[Case, Found]) -> None:
    log, (told, outcome) = written(clean=case.clean), found[case]
    assert not outcome.wrong, "a record that nobody has written"
    if case.kind is Kind.HIGH_WATERMARK and case.damage in UNREADABLE:
        assert outcome.state == OFFLINE, "as in Kafka"
        assert told
        return
    assert outcome.state == SERVED
    assert not outcome.wrong_times
    if case[:2] == (Kind.LOG_START, Damage.SWAPPED):
        # the offset of another checkpoint is as good as one that DeleteRecords has set
        assert outcome.start == (log.end if case.clean else log.unflushed)
        return
    assert outcome.end == log.end or case.kind is Kind.ACTIVE_SEGMENT
    assert set(outcome.lost) <= at_risk(case, log)
    gone = set(outcome.lost) - set(outcome.refused)
    reported = [
        event
        for event in told
        if isinstance(event, LogRepaired)
        and event.what in (TAIL_CUT, SEGMENT_DROPPED, RECORDS_MISSING)
    ]
    assert bool(gone) <= bool(reported), "records are gone, and no event says so"
    assert outcome.knows_epochs
    if case[:2] != (Kind.SNAPSHOT, Damage.SWAPPED):
        known = log.last_idempotent_offset not in outcome.lost
        assert outcome.knows_producer == known
    assert bool(outcome.revived) == (
        case.kind is Kind.LOG_START and case.damage is not Damage.SWAPPED
    )


@pytest.mark.parametrize("case", CASES, ids=[case.topic for case in CASES])
def test_it_is_never_worse_than_in_apache_kafka(case: Case, found: dict[Case, Found]) -> None:
    ours, theirs = found[case].outcome, recorded()[case].outcome
    assert not theirs.wrong
    if theirs.state in (NO_START, OFFLINE):
        return
    assert ours.state == SERVED
    assert set(ours.lost) <= set(theirs.lost)
    assert set(ours.refused) <= set(theirs.refused)
    assert set(ours.aborted) <= set(theirs.aborted)
    assert set(ours.wrong_times) <= set(theirs.wrong_times)
    assert ours.knows_producer >= theirs.knows_producer
    assert ours.knows_epochs >= theirs.knows_epochs


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(all_found(), recorded()), (
        "run: python -m tests.unit.log.corruption.page docs/corruption.md"
    )


def flips() -> Iterator[Flip]:
    for clean in (True, False):
        log = written(clean=clean)
        for kind in Kind:
            if kind is not Kind.HIGH_WATERMARK:
                for bit in range(8 * len(log.files[path_of(kind, log)])):
                    yield Flip(kind, bit, clean)


def is_offset_of_a_batch(flip: Flip, log: Written) -> bool:
    """Return whether the bit lies in a batch's offset or leader epoch. No checksum covers these, so
    a start that does not read the segment cannot notice the flip.
    """
    if flip.kind not in (Kind.SEGMENT, Kind.ACTIVE_SEGMENT):
        return False
    data = log.files[path_of(flip.kind, log)]
    return any(
        0 <= flip.bit // 8 - at < 8 or 12 <= flip.bit // 8 - at < 16 for at, _ in iter_headers(data)
    )


def test_no_flipped_bit_makes_a_wrong_record() -> None:
    tried = drawn(list(flips()), FLIPS)
    pieces = [tried[at : at + FLIPS] for at in range(0, len(tried), FLIPS)]
    for flip, (told, outcome) in itertools.chain.from_iterable(run(p).items() for p in pieces):
        log = written(clean=flip.clean)
        if is_offset_of_a_batch(flip, log):
            continue
        assert not outcome.wrong, (flip, told, outcome)
        if flip.kind is not Kind.LOG_START:
            assert set(outcome.lost) <= at_risk(flip, log), (flip, told, outcome)
