"""What a run keeps of its facts: their times, and the digest that shows that two runs are equal."""

import pytest

from kafka_edu.sim.stage.fact_log import FactLog, Unit
from kafka_edu.trace.event import SUPERVISOR, Envelope, Source
from kafka_edu.trace.events.learner import LearnerAnswered
from kafka_edu.trace.events.supervisor import ProcessPaused, ProcessResumed, ProcessSnapshot
from kafka_edu.trace.events.timer import TimerTaskExpired


def paused(seq: int, at_us: int) -> Envelope:
    broker = Source.of_broker(1)
    return Envelope(
        SUPERVISOR, seq, 0, 0, at_us, ProcessPaused(process="broker-1", child=broker, pid=0)
    )


def emit(log: FactLog, fact: Envelope) -> None:
    """Hand on a fact as a run does: first to the digest."""
    log.digest.add(fact)
    log.take(fact)


def filled() -> FactLog:
    log = FactLog()
    expired = TimerTaskExpired(timer="t", task="task", deadline_ms=0, late_ms=0, level=0, slot=0)
    for seq, at_us in enumerate((10, 20, 30), 1):
        emit(log, paused(seq, at_us))
        emit(log, Envelope(Source.of_broker(1), seq, 0, 0, at_us + 5, expired))
    return log


def test_a_run_that_is_executed_again_is_compared_fact_by_fact() -> None:
    log, digest = filled(), filled().digest.hex()
    assert log.begin_again() is log.digest
    assert log.repeats
    assert (log.count, len(log)) == (0, 6)
    emit(log, paused(1, 10))
    assert log.parted == ""
    other = ProcessResumed(process="broker-1", child=Source.of_broker(1), pid=0)
    emit(log, Envelope(SUPERVISOR, 2, 0, 0, 15, other))
    emit(log, paused(3, 30))
    assert log.parted == (
        "the run has parted from the recorded one at 0.000015 s, fact 2:"
        " ProcessResumed of supervisor"
    )
    assert log.digest.hex() != digest


def test_samples_are_no_facts() -> None:
    log = filled()
    snapshot = ProcessSnapshot(
        process="broker-1", child=Source.of_broker(1), state="running", pid=0, port=0
    )
    emit(log, Envelope(SUPERVISOR, 9, 0, 0, 40, snapshot))
    assert (log.count, len(log)) == (6, 6)


def test_a_fork_forgets_the_old_future() -> None:
    log = filled()
    log.begin_again()
    emit(log, paused(1, 10))
    log.fork()
    assert not log.repeats
    emit(log, paused(2, 999))
    assert (log.count, len(log), log.parted) == (2, 2, "")


def test_the_next_and_the_last_fact_of_a_unit_are_found() -> None:
    log = filled()
    assert log.find(Unit.EVENT, 20, -1) == 10
    assert log.find(Unit.EVENT, 20, 1) == 30
    assert log.find(Unit.TIMER, 20, 1) == 25
    assert log.find(Unit.MILLISECOND, 2_000, -1) == 1_000
    with pytest.raises(ValueError, match="no event is recorded after"):
        log.find(Unit.EVENT, 30, 1)
    with pytest.raises(ValueError, match="no request is recorded before"):
        log.find(Unit.REQUEST, 30, -1)


def test_a_learners_part_that_does_not_repeat_itself_is_named() -> None:
    def answered(answer: str) -> Envelope:
        event = LearnerAnswered(
            exercise="02-1", call="add(350)", answer=answer, line=12, source="return 1, 2, 3"
        )
        return Envelope(Source.of_broker(2), 1, 0, 0, 40, event)

    log = FactLog()
    emit(log, answered("(1, 2, 3)"))
    assert log.find(Unit.LEARNER, 10, 1) == 40
    log.begin_again()
    emit(log, answered("(1, 2, 4)"))
    assert log.parted == (
        "the run has parted from the recorded one at 0.000040 s, fact 1: LearnerAnswered of"
        " broker 2. The part 02-1 is not deterministic, or its file has changed: line 12 now"
        " answers (1, 2, 4) to add(350)"
    )
