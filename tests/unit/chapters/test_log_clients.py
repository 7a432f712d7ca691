"""The verdict of the demo must notice every way in which a record can be lost, stored twice or
stored at a wrong place.
"""

from collections import Counter

import pytest

from chapters.demo_parts.log_clients import Acked, Read, compare, longest_silence

TRUTH = Counter({200: 2, 404: 1})
ACKED = {0: Acked(0, 10, 1.0), 1: Acked(0, 11, 1.1), 2: Acked(1, 7, 1.2)}
READ = [Read(0, 10, 0, 200), Read(0, 11, 1, 404), Read(1, 7, 2, 200)]


def test_all_is_well() -> None:
    verdict = compare(3, ACKED, 0, TRUTH, READ)
    assert (verdict.produced, verdict.acked, verdict.consumed) == (3, 3, 3)
    assert (verdict.lost, verdict.duplicates, verdict.unacked_but_read, verdict.statuses_agree) == (
        0,
        0,
        0,
        True,
    )


def test_an_acked_record_that_is_not_there_is_lost() -> None:
    verdict = compare(3, ACKED, 0, TRUTH, READ[:2])
    assert verdict.lost == 1
    assert not verdict.statuses_agree


@pytest.mark.parametrize("moved", [Read(1, 11, 1, 404), Read(0, 12, 1, 404)])
def test_an_acked_record_found_elsewhere_is_lost(moved: Read) -> None:
    assert compare(3, ACKED, 0, TRUTH, [READ[0], moved, READ[2]]).lost == 1


def test_another_record_in_its_place_is_a_loss() -> None:
    """This is the effect of truncation without leader epochs: the offset exists, but with a
    different record.
    """
    verdict = compare(3, ACKED, 0, TRUTH, [READ[0], Read(0, 11, 2, 200), READ[2]])
    assert verdict.lost == 1
    assert verdict.duplicates == 1


def test_a_record_twice_in_the_log_is_a_duplicate() -> None:
    verdict = compare(3, ACKED, 0, TRUTH, [*READ, Read(0, 12, 1, 404)])
    assert (verdict.lost, verdict.duplicates) == (0, 1)


def test_a_record_read_twice_from_the_same_place_is_none() -> None:
    assert compare(3, ACKED, 0, TRUTH, [*READ, READ[0]]).duplicates == 0


def test_a_record_without_an_ack_may_be_there() -> None:
    acked = {number: ack for number, ack in ACKED.items() if number != 2}
    verdict = compare(3, acked, 1, TRUTH, READ)
    assert (verdict.acked, verdict.failed, verdict.lost, verdict.unacked_but_read) == (2, 1, 0, 1)
    assert not verdict.statuses_agree, "without all acks the counts say nothing"


def test_longest_silence_spans_the_kill() -> None:
    acks = {
        0: Acked(0, 0, 1.0),
        1: Acked(0, 1, 4.9),
        2: Acked(0, 2, 5.1),
        3: Acked(0, 3, 11.6),
        4: Acked(1, 0, 5.0),
        5: Acked(1, 1, 20.0),
    }
    assert longest_silence(acks, frozenset({0}), 5.0) == pytest.approx(
        6.5
    )  # from 5.1, an ack that was on its way, to 11.6
    assert longest_silence(acks, frozenset({0, 1}), 5.0) == pytest.approx(15.0)
    assert longest_silence(acks, frozenset({2}), 5.0) == 0.0
