"""The first facts that differ between two futures. The facts arrive in pieces."""

from kafka_edu.trace.event import SUPERVISOR, Envelope, Source
from kafka_edu.trace.events.supervisor import ProcessPaused, ProcessResumed, ProcessSnapshot
from kafka_edu.trace.events.timer import TimerTaskExpired
from tui.futures.first_difference import FirstDifference, Parting

B1 = Source.of_broker(1)


def paused(seq: int, at_us: int) -> Envelope:
    return Envelope(
        SUPERVISOR, seq, 0, 0, at_us, ProcessPaused(process="broker-1", child=B1, pid=0)
    )


def resumed(seq: int, at_us: int) -> Envelope:
    return Envelope(
        SUPERVISOR, seq, 0, 0, at_us, ProcessResumed(process="broker-1", child=B1, pid=0)
    )


def test_the_first_facts_that_differ_are_found_in_whatever_pieces_they_come() -> None:
    same = [paused(1, 10), resumed(2, 20)]
    one, other = paused(3, 30), paused(3, 31)
    difference = FirstDifference()
    difference.take_present([*same, one])
    assert (difference.same, difference.found) == (0, None)
    difference.take_stored(same[:1])
    difference.take_stored(same[1:])
    assert (difference.same, difference.found) == (2, None)
    difference.take_stored([other])
    assert difference.found == Parting(one, other)
    difference.take_stored([paused(4, 40)])
    assert difference.found == Parting(one, other), "only the first one counts"
    assert difference.from_start


def test_samples_and_facts_that_nobody_requested_in_both_are_left_out() -> None:
    snapshot = ProcessSnapshot(process="zookeeper", child=B1, state="running", pid=0, port=0)
    sample = Envelope(SUPERVISOR, 0, 0, 0, 5, snapshot)
    expired = TimerTaskExpired(timer="t", task="task", deadline_ms=0, late_ms=0, level=0, slot=0)
    hop = Envelope(B1, 1, 0, 0, 6, expired)
    difference = FirstDifference()
    difference.take_present([sample, hop, paused(1, 10)])
    difference.take_stored([paused(1, 10)])
    assert (difference.same, difference.found) == (1, None)


def test_facts_of_one_moment_of_which_some_are_not_kept_any_more_do_not_differ() -> None:
    stored = [paused(1, 10), resumed(2, 50), paused(3, 50), resumed(4, 60)]
    for earlier_first in (True, False):
        difference = FirstDifference()
        if earlier_first:
            difference.take_stored(stored)
            difference.take_present(stored[2:])
        else:
            difference.take_present(stored)
            difference.take_stored(stored[2:])
        assert (difference.same, difference.found, difference.from_start) == (2, None, False)


def test_facts_that_are_not_kept_any_more_are_skipped_and_that_is_known() -> None:
    kept = [paused(5, 50), resumed(6, 60)]
    difference = FirstDifference()
    difference.take_present(kept)
    difference.take_stored([paused(1, 10), resumed(2, 20), *kept, paused(7, 70)])
    assert (difference.same, difference.found, difference.from_start) == (2, None, False)
    difference.take_present([paused(7, 71)])
    assert difference.found == Parting(paused(7, 71), paused(7, 70))


def test_a_fact_that_only_one_future_has_differs_as_soon_as_both_stand_there() -> None:
    same, alone = [paused(1, 10), resumed(2, 20)], paused(3, 30)
    for first in (True, False):
        difference = FirstDifference()
        one, other = (
            (difference.take_present, difference.take_stored)
            if first
            else (difference.take_stored, difference.take_present)
        )
        one([*same, alone])
        other(same)
        assert difference.found is None, "the other one may still have it"
        difference.both_stand()
        assert difference.found == (Parting(alone, None) if first else Parting(None, alone))
        difference.both_stand()
        one([resumed(4, 35)])
        later = paused(3, 40)
        other([later, resumed(4, 50)])
        assert difference.found == (Parting(alone, later) if first else Parting(later, alone))


def test_two_futures_that_stand_with_the_same_facts_do_not_differ() -> None:
    difference = FirstDifference()
    difference.both_stand()
    difference.take_present([paused(1, 10)])
    difference.both_stand()
    assert difference.found is None, "the other one has not told anything yet"
    difference.take_stored([paused(1, 10)])
    difference.both_stand()
    assert (difference.same, difference.found) == (1, None)
