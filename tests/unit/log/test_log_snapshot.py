"""The state of a whole log for a new subscriber, and samples of the logs that have changed."""

from kafka_edu.log.log_snapshot import LogSampler, log_state
from tests.unit.log.test_log import NOW, batch, filled


def test_the_state_of_a_log_names_its_segments_epochs_and_ends() -> None:
    log = filled(batches=2, records=3)
    log.roll(NOW)
    log.append_as_leader(batch(2), 5, NOW)
    state = log_state(log)
    assert (state.topic, state.partition, state.log_dir) == ("t", 0, "/d")
    assert (state.log_start_offset, state.log_end_offset) == (0, 8)
    assert [segment.base_offset for segment in state.segments] == [0, 6]
    assert sum(segment.size for segment in state.segments) == log.size
    assert state.leader_epochs == ((0, 0), (5, 6))
    assert state.producers == 0


def test_a_log_is_sampled_again_only_after_its_end_has_moved() -> None:
    log, sampler = filled(batches=1, records=3), LogSampler()
    first = sampler.sample(log)
    assert first is not None
    assert (first.log_end_offset, first.segment.base_offset) == (3, 0)
    assert sampler.sample(log) is None
    log.append_as_leader(batch(1), 0, NOW)
    second = sampler.sample(log)
    assert second is not None
    assert second.log_end_offset == 4
    sampler.forget(log)
    assert sampler.sample(log) is not None, "a log that was forgotten is as a new one"
