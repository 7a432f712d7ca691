"""When the controller hears of changed ISRs: after 5 quiet seconds, or after a minute."""

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.isr_writer import IsrChangePropagation

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_told_when_nothing_has_changed_for_more_than_five_seconds() -> None:
    changes = IsrChangePropagation(0)
    changes.record(B, 1_000)
    changes.record(A, 2_000)
    assert changes.take_due(7_000) == []
    assert changes.take_due(7_001) == [A, B]
    assert changes.take_due(20_000) == []


def test_told_after_a_minute_even_if_changes_never_stop() -> None:
    changes = IsrChangePropagation(0)
    due: list[tuple[int, list[TopicPartition]]] = []
    for second in range(130):
        changes.record(A, second * 1_000)
        if told := changes.take_due(second * 1_000):
            due.append((second, told))
    assert due == [(61, [A]), (122, [A])]


def test_what_could_not_be_told_is_told_later() -> None:
    changes = IsrChangePropagation(0)
    changes.record(A, 0)
    due = changes.take_due(5_001)
    changes.put_back(due)
    assert changes.take_due(7_500) == [A]
