"""The producer's core under random schedules of records, answers, errors and lost connections.

Whatever happens, each record ends exactly once, an acknowledged record is stored, buffer.memory is
never exceeded, and the order of a partition is kept where Kafka promises it: with one request in
flight, or with idempotence. With idempotence no record is stored twice.
"""

from collections import Counter

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from kafka_edu.clients.producer.producer_batch import RecordMetadata, Thunk
from kafka_edu.common.errors import Errors, KafkaException
from tests.unit.clients.producer.parts import Core, produced

PARTITIONS = 2
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["append"] * 4
            + ["run", "run", "answer", "answer", "answer", "refuse", "lose", "wait", "move"]
        ),
        st.integers(0, 7),
    ),
    min_size=5,
    max_size=80,
)
REFUSALS = (
    Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.NOT_ENOUGH_REPLICAS,
    Errors.REQUEST_TIMED_OUT,
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
)
MODES = {
    "one in flight": {"max.in.flight.requests.per.connection": 1},
    "idempotent": {"enable.idempotence": True},
    "five in flight": {},
}


class Run:
    """One producer and two brokers, through one schedule."""

    def __init__(self, mode: str) -> None:
        self.core = Core(
            MODES[mode] | {"batch.size": 90, "buffer.memory": 4_000, "retry.backoff.ms": 20},
            partitions=PARTITIONS,
            brokers=(1, 2),
        )
        self.sent: dict[int, list[bytes]] = {p: [] for p in range(PARTITIONS)}
        self.ends: Counter[bytes] = Counter()
        self.acked: dict[bytes, tuple[int, int]] = {}

    def append(self, partition: int) -> None:
        core = self.core
        value = b"%d-%d" % (partition, len(self.sent[partition]))
        if core.pool.available < 220:
            return

        def callback(metadata: RecordMetadata | None, error: KafkaException | None) -> None:
            self.ends[value] += 1
            if metadata is not None:
                assert error is None
                self.acked[value] = (metadata.partition, metadata.offset)

        batch = core.append(value, partition)
        batch.thunks.append(Thunk(callback, batch.count - 1, 0, -1, len(value)))
        self.sent[partition].append(value)

    def step(self, what: str, number: int) -> None:
        core = self.core
        pick = core.requests[0] if core.requests else None
        if core.requests:
            node = sorted({r.node for r in core.requests})[number % 2 - 1]
            pick = next(r for r in core.requests if r.node == node)
        match what:
            case "append":
                self.append(number % PARTITIONS)
            case "run":
                core.run()
            case "answer" if pick is not None:
                core.answer(pick, core.store(pick))
            case "refuse" if pick is not None:
                error = REFUSALS[number % len(REFUSALS)]
                core.answer(pick, produced({p: (error, -1) for p, _, _ in core.batches(pick)}))
            case "lose" if pick is not None:
                if number % 2:  # the leader stores the batch, but its answer is lost
                    core.store(pick)
                core.lose(pick.node)
            case "wait":
                core.advance(10 * number)
            case "move":
                leader, epoch = core.leaders[number % PARTITIONS]
                core.leaders[number % PARTITIONS] = (3 - leader, epoch + 1)
        assert 0 <= core.pool.available <= core.pool.total
        held = sum(batch.reserved for batch in core.accumulator.incomplete)
        assert core.pool.available + held == core.pool.total
        assert sum(b.size for b in core.accumulator.incomplete) <= held

    def finish(self) -> None:
        for _ in range(400):
            self.core.advance(25)
            while self.core.requests:
                request = self.core.requests[0]
                self.core.answer(request, self.core.store(request))
            if not self.core.accumulator.incomplete:
                return
        raise AssertionError("some records never end")


@pytest.mark.parametrize("mode", MODES)
@given(steps=STEPS)
@settings(max_examples=120, deadline=None)
def test_each_record_ends_once_and_what_is_acked_is_stored(
    mode: str, steps: list[tuple[str, int]]
) -> None:
    run = Run(mode)
    for what, number in steps:
        run.step(what, number)
    run.finish()
    core = run.core
    assert core.pool.available == core.pool.total
    for partition, values in run.sent.items():
        stored = core.stored[partition].values
        for value in values:
            assert run.ends[value] == 1
            assert value in run.acked  # nothing here lasts longer than delivery.timeout.ms
            assert value in stored
            where, offset = run.acked[value]
            assert where == partition
            assert stored[offset] == value
        if mode == "idempotent":
            assert stored == values
        elif mode == "one in flight":
            firsts = list(dict.fromkeys(stored))
            assert firsts == values
