"""The notes about the brokers while a run goes on."""

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.sim.scenario import watch as module
from kafka_edu.sim.scenario.watch import Watch

T0 = TopicPartition("t", 0)


def test_it_notes_what_goes_back_and_who_was_out_of_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    now_ms = 0
    cluster: Any = SimpleNamespace(
        time=SimpleNamespace(hi_res_clock_ms=lambda: now_ms),
        brokers={1: SimpleNamespace(id=1, incarnation=1)},
        sink=SimpleNamespace(listeners=[]),
    )
    seen: list[Any] = []
    monkeypatch.setattr(module, "partitions_of", lambda cluster, broker: seen)
    watch = Watch(cluster)
    for time_ms, mark, isr in ((0, 5, (1, 2)), (50, 7, (1,)), (950, 6, (1,)), (1_000, 6, (1, 2))):
        now_ms = time_ms
        seen[:] = [
            SimpleNamespace(
                is_leader=True,
                topic_partition=T0,
                leader_epoch=3,
                isr=isr,
                high_watermark=SimpleNamespace(offset=mark),
            )
        ]
        watch.look()
    assert watch.went_back == ["t-0 on leader 1, epoch 3: high watermark 7 -> 6 at 0.9 s"]
    assert watch.promises[T0].high_watermark == 7
    assert watch.longest_absence_ms(T0, 2) == 1_000
    assert watch.longest_absence_ms(T0, 1) == 900, "the time between two looks"
    assert watch.longest_absence_ms(T0, 3) == 0
