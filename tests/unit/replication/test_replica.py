"""A leader knows a follower only from its fetches."""

from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.replication.replica import Replica


def test_caught_up_means_having_what_the_leader_had_at_the_fetch_before() -> None:
    replica = Replica(2)
    replica.reset(0, 0, in_sync=True)
    replica.update_fetch_state(LogOffsetMetadata(0), 0, 100, 10)  # the leader has 10 by now
    assert replica.last_caught_up_time_ms == 0
    replica.update_fetch_state(LogOffsetMetadata(10), 0, 200, 20)  # has what the leader had at 100
    assert replica.last_caught_up_time_ms == 100
    replica.update_fetch_state(
        LogOffsetMetadata(15), 0, 300, 30
    )  # does not have what it had at 200
    assert replica.last_caught_up_time_ms == 100
    replica.update_fetch_state(LogOffsetMetadata(30), 0, 400, 30)
    assert replica.last_caught_up_time_ms == 400
