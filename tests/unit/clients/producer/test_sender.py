"""The producer's sender, with the time as an argument: when it sends which batch, and what it does
after each answer.
"""

from collections.abc import Mapping
from typing import Final

import pytest

from kafka_edu.clients.client_errors import BrokerException, TimeoutException
from kafka_edu.clients.metadata import Metadata
from kafka_edu.clients.producer.producer_batch import ProducerBatch
from kafka_edu.clients.producer.record_accumulator import Ready
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.produce import ProduceRequest
from kafka_edu.record.record_batch import read_records
from tests.unit.clients.producer.parts import Core, produced

REFUSED = Errors.NOT_LEADER_OR_FOLLOWER


def error_of(batch: ProducerBatch) -> str:
    assert batch.outcome is not None
    assert batch.outcome.error is not None
    return str(batch.outcome.error)


def test_a_record_is_sent_and_acknowledged() -> None:
    core = Core()
    batch = core.append(b"a")
    core.run()
    [request] = core.requests
    assert request.node == 1
    assert not batch.done
    core.answer(request, produced({0: (Errors.NONE, 41)}))
    assert batch.outcome is not None
    assert batch.outcome.base_offset == 41
    assert core.pool.available == core.pool.total
    assert not core.accumulator.incomplete


def test_linger_collects_records_and_a_full_batch_does_not_wait() -> None:
    core = Core({"linger.ms": 20, "batch.size": 300})
    core.append(b"a")
    core.run()
    core.advance(19)
    assert not core.requests
    core.append(b"b")
    core.advance(1)
    [request] = core.requests
    [(_, raw, header)] = core.batches(request)
    assert [record.value for record in read_records(raw)] == [b"a", b"b"]
    assert header.records_count == 2
    core.answer(request, core.store(request))
    core.append(b"x" * 300)
    core.run()
    assert len(core.requests) == 1


def test_one_request_has_the_batches_of_all_partitions_of_a_broker() -> None:
    core = Core(partitions=4, brokers=(1, 2))
    for partition in range(4):
        core.append(b"v", partition)
    core.run()
    found = {r.node: sorted(p for p, _, _ in core.batches(r)) for r in core.requests}
    assert found == {1: [0, 2], 2: [1, 3]}


def test_max_request_size_limits_a_request() -> None:
    core = Core({"max.request.size": 500, "batch.size": 400}, partitions=3)
    for partition in range(3):
        core.append(b"v" * 300, partition)
    core.run()
    assert [len(core.batches(r)) for r in core.requests] == [1, 1, 1]


def test_a_refused_batch_is_sent_again_after_the_backoff_with_new_metadata() -> None:
    core = Core({"retry.backoff.ms": 100}, brokers=(1, 2))
    batch = core.append(b"a")
    core.run()
    core.leaders[0] = (2, 1)
    core.advance(50)
    core.answer(core.requests[0], produced({0: (REFUSED, -1)}))
    core.advance(99)
    assert not core.requests
    core.advance(1)
    [request] = core.requests
    assert request.node == 2
    core.answer(request, core.store(request))
    assert batch.attempts == 1
    assert batch.outcome is not None
    assert batch.outcome.error is None


def test_retries_end() -> None:
    core = Core({"retries": 2, "retry.backoff.ms": 10})
    batch = core.append(b"a")
    core.run()
    for _ in range(3):
        core.answer(core.requests[0], produced({0: (REFUSED, -1)}))
        core.advance(10)
    assert not core.requests
    assert error_of(batch).startswith("NOT_LEADER_OR_FOLLOWER: ")
    assert isinstance(batch.outcome and batch.outcome.error, BrokerException)


def test_an_error_that_stays_is_not_retried_and_says_what_to_do() -> None:
    core = Core()
    batch = core.append(b"a")
    core.run()
    core.answer(core.requests[0], produced({0: (Errors.MESSAGE_TOO_LARGE, -1)}))
    assert batch.attempts == 0
    assert error_of(batch).endswith("Send smaller records, or raise the topic's max.message.bytes.")


def test_delivery_timeout_ends_queued_and_sent_batches() -> None:
    core = Core({"delivery.timeout.ms": 2_000, "request.timeout.ms": 1_500})
    core.leaders[0] = (-1, -1)
    queued = core.append(b"a")
    core.advance(1_999)
    assert not queued.done
    core.advance(1)
    assert isinstance(queued.outcome and queued.outcome.error, TimeoutException)
    core.leaders[0] = (1, 1)
    core.advance(300)
    sent = core.append(b"b")
    core.run()
    [request] = core.requests
    core.now += 1_400
    core.connections.in_flight.clear(1)
    core.advance(600)
    assert error_of(sent).startswith("TimeoutException: Expiring 1 record(s) for t-0: 2000 ms")
    assert core.pool.available == core.pool.total
    assert request.node == 1


def test_a_batch_that_expires_names_the_last_answer() -> None:
    core = Core({"delivery.timeout.ms": 2_000, "request.timeout.ms": 1_500})
    batch = core.append(b"a")
    core.run()
    core.answer(core.requests[0], produced({0: (Errors.NOT_ENOUGH_REPLICAS, -1)}))
    core.leaders[0] = (-1, -1)
    core.advance(2_000)
    assert "since batch creation. The last answer was NOT_ENOUGH_REPLICAS. " in error_of(batch)


def test_a_request_without_an_answer_closes_its_connection_and_is_sent_again() -> None:
    core = Core({"request.timeout.ms": 500})
    batch = core.append(b"a")
    core.run()
    core.advance(500)
    assert core.refused == [1]
    core.advance(200)
    [request] = core.requests
    core.answer(request, core.store(request))
    assert batch.done
    assert batch.attempts == 1


def test_acks_0_does_not_wait_for_an_answer() -> None:
    core = Core({"acks": "0"})
    batch = core.append(b"a")
    core.run()
    assert batch.outcome is not None
    assert batch.outcome.base_offset == -1
    assert core.connections.in_flight.count(1) == 0


def test_with_one_request_in_flight_a_retry_keeps_the_order() -> None:
    core = Core({"max.in.flight.requests.per.connection": 1, "batch.size": 0})
    for value in (b"1", b"2", b"3"):
        core.append(value)
    core.run()
    assert len(core.requests) == 1
    core.answer(core.requests[0], produced({0: (REFUSED, -1)}))
    core.advance(100)
    while core.requests:
        core.answer(core.requests[0], core.store(core.requests[0]))
        core.run()
    assert core.stored[0].values == [b"1", b"2", b"3"]


def test_five_requests_in_flight_at_most() -> None:
    core = Core({"batch.size": 0})
    for number in range(8):
        core.append(b"%d" % number)
    for _ in range(8):
        core.run()
        core.advance(1)
    assert len(core.requests) == 5


def test_a_batch_that_is_too_large_is_split_and_each_record_keeps_its_future() -> None:
    core = Core({"linger.ms": 5, "compression.type": "gzip"})
    for number in range(10):
        batch = core.append(b"%d" % number)
    core.advance(5)
    core.answer(core.requests[0], produced({0: (Errors.MESSAGE_TOO_LARGE, -1)}))
    assert not batch.done
    assert len(batch.children) >= 2
    while core.pool.available != core.pool.total:
        core.advance(1)
        core.answer(core.requests[0], core.store(core.requests[0]))
    assert core.stored[0].values == [b"%d" % number for number in range(10)]
    for index in range(10):
        part, place = batch.locate(index)
        assert part.outcome is not None
        assert part.outcome.base_offset + place == index


@pytest.mark.parametrize(
    ("newest", "codec", "sent"),
    [(7, "zstd", True), (6, "zstd", False), (3, "gzip", True), (2, "none", False)],
)
def test_a_broker_that_is_too_old_for_the_batches_is_named(
    newest: int, codec: str, sent: bool
) -> None:
    core = Core({"compression.type": codec})
    core.newest_produce = newest
    batch = core.append(b"a")
    core.run()
    assert [request.version for request in core.requests] == ([newest] if sent else [])
    assert batch.done is not sent
    if not sent:
        assert "Broker 1 does not know version" in error_of(batch)


def test_an_idempotent_producer_fails_at_once_on_brokers_that_have_none() -> None:
    """It does not wait for delivery.timeout.ms."""
    core = Core({"enable.idempotence": True})
    core.newest[ApiKey.INIT_PRODUCER_ID] = -1
    core.metadata.use("t", core.now)
    core.run()  # the metadata is there, so the next run has no other effect that wakes the sender
    batch = core.append(b"a")
    core.run()
    assert batch.done
    assert "Set enable.idempotence to false, or use a broker from 0.11 on." in error_of(batch)


def test_an_unknown_topic_is_asked_for_again_after_the_backoff() -> None:
    core = Core()
    core.topic_error = Errors.UNKNOWN_TOPIC_OR_PARTITION
    batch = core.append(b"a")
    core.run()
    assert core.metadata.errors == {"t": Errors.UNKNOWN_TOPIC_OR_PARTITION}
    core.topic_error = Errors.NONE
    core.advance(99)
    assert "t" not in core.metadata.topics
    core.advance(1)
    [request] = core.requests
    core.answer(request, core.store(request))
    assert batch.done


def test_abort_fails_what_has_no_answer() -> None:
    core = Core({"batch.size": 0, "max.in.flight.requests.per.connection": 1})
    first, second = core.append(b"a"), core.append(b"b")
    core.run()
    core.sender.abort(core.now)
    for batch in (first, second):
        assert error_of(batch).startswith("ProducerClosedException: The producer was closed")
    assert core.pool.available == core.pool.total


def settled(settings: Mapping[str, object]) -> Core:
    """Return a core that has stored a record, and that has nothing more to do."""
    core = Core(settings)
    core.append(b"first")
    core.run()
    core.answer(core.requests[0], core.store(core.requests[0]))
    core.advance(core.config.retry_backoff_ms)
    assert not core.requests
    return core


class TestEachSettingCounts:
    """Each setting of the producer has an effect. The tests outside of this class show this for
    acks, linger.ms, batch.size, retries and some more.
    """

    @pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
    def test_compression_type(self, codec: str) -> None:
        core = Core({"compression.type": codec})
        core.append(b"a" * 500)
        core.run()
        [(_, raw, header)] = core.batches(core.requests[0])
        assert header.compression.name.lower() == codec
        assert read_records(raw)[0].value == b"a" * 500

    def test_metadata_max_age_ms(self) -> None:
        core = settled({"metadata.max.age.ms": 7_000})
        version = core.metadata.version
        core.advance(6_999)
        assert core.metadata.version == version
        core.advance(1)
        assert core.metadata.version == version + 1

    def test_metadata_max_idle_ms(self) -> None:
        core = settled({"metadata.max.idle.ms": 5_000, "metadata.max.age.ms": 100})
        core.metadata.use("t", core.now)
        core.advance(4_999)
        assert "t" in core.metadata.topics
        core.advance(100)
        assert "t" not in core.metadata.topics

    def test_connections_max_idle_ms(self) -> None:
        core = settled({"connections.max.idle.ms": 3_000})
        core.advance(2_899)
        assert core.refused == []
        core.advance(1)
        assert core.refused == [-1]  # the bootstrap connection; now 1 is asked for the metadata
        core.advance(2_999)
        assert core.refused == [-1]
        core.advance(1)
        assert core.refused == [-1, 1]

    def test_socket_connection_setup_timeout_ms(self) -> None:
        core = settled({"socket.connection.setup.timeout.ms": 1_234})
        assert {connect.timeout_ms for connect in core.connects} == {1_234}

    @pytest.mark.parametrize(("longest", "pause"), [(4_000, 1_000), (300, 300)])
    def test_reconnect_backoff_ms_and_its_limit(self, longest: int, pause: int) -> None:
        core = settled({"reconnect.backoff.ms": 1_000, "reconnect.backoff.max.ms": longest})
        core.append(b"a")
        core.lose(1)
        core.advance(pause * 0.79)
        assert 1 not in core.connected
        core.advance(pause * 0.42)
        assert 1 in core.connected

    def test_retry_backoff_ms_of_a_batch(self) -> None:
        core = settled({"retry.backoff.ms": 700})
        core.append(b"a")
        core.run()
        core.answer(core.requests[0], produced({0: (Errors.NOT_ENOUGH_REPLICAS, -1)}))
        core.advance(699)
        assert not core.requests
        core.advance(1)
        assert len(core.requests) == 1

    def test_retry_backoff_ms_of_the_metadata(self) -> None:
        core = Core({"retry.backoff.ms": 700})
        core.topic_error = Errors.LEADER_NOT_AVAILABLE
        core.append(b"a")
        core.run()
        version = core.metadata.version
        core.advance(699)
        assert core.metadata.version == version
        core.advance(1)
        assert core.metadata.version == version + 1

    @pytest.mark.parametrize("limit", [1, 2, 7])
    def test_max_in_flight_requests_per_connection(self, limit: int) -> None:
        core = settled({"batch.size": 0, "max.in.flight.requests.per.connection": limit})
        for _ in range(9):
            core.append(b"a")
            core.run()
        assert len(core.requests) == limit

    def test_acks_and_request_timeout_ms(self) -> None:
        core = settled({"acks": "all", "request.timeout.ms": 4_321})
        core.append(b"a")
        core.run()
        message = core.requests[0].message
        assert isinstance(message, ProduceRequest)
        assert (message.acks, message.timeout_ms) == (-1, 4_321)
        core.advance(4_320)
        assert not core.refused
        core.advance(1)
        assert core.refused == [1]


class TestIdempotence:
    SETTINGS: Final[Mapping[str, object]] = {"enable.idempotence": True, "batch.size": 0}

    def test_batches_are_numbered(self) -> None:
        core = Core(self.SETTINGS)
        for value in (b"1", b"2", b"3"):
            core.append(value)
        core.run()
        [first] = core.requests  # a leader that has acknowledged nothing gets one batch alone
        core.answer(first, core.store(first))
        core.run()
        core.advance(1)
        headers = [core.batches(request)[0][2] for request in [first, *core.requests]]
        assert [(h.producer_id, h.producer_epoch, h.base_sequence) for h in headers] == [
            (101, 0, 0),
            (101, 0, 1),
            (101, 0, 2),
        ]

    def test_a_lost_answer_makes_no_duplicate(self) -> None:
        core = Core(self.SETTINGS)
        batch = core.append(b"a")
        core.run()
        core.store(core.requests[0])
        core.lose(1)
        core.advance(200)
        core.answer(core.requests[0], core.store(core.requests[0]))
        assert core.stored[0].values == [b"a"]
        assert batch.outcome is not None
        assert batch.outcome.base_offset == 0

    def test_duplicate_sequence_is_success_without_an_offset(self) -> None:
        core = Core(self.SETTINGS)
        batch = core.append(b"a")
        core.run()
        core.answer(core.requests[0], produced({0: (Errors.DUPLICATE_SEQUENCE_NUMBER, -1)}))
        assert batch.outcome is not None
        assert (batch.outcome.base_offset, batch.outcome.error) == (-1, None)

    def test_retried_batches_keep_their_order(self) -> None:
        core = Core(self.SETTINGS)
        core.append(b"0")
        core.run()
        core.answer(core.requests[0], core.store(core.requests[0]))
        for value in (b"1", b"2", b"3"):
            core.append(value)
            core.run()
        first, *others = core.requests
        core.answer(first, produced({0: (Errors.NOT_ENOUGH_REPLICAS, -1)}))
        for request in others:
            core.answer(request, core.store(request))  # out of order, so nothing is stored
        assert core.stored[0].values == [b"0"]
        for _ in range(3):
            core.advance(100)
            core.answer(core.requests[0], core.store(core.requests[0]))
        assert core.stored[0].values == [b"0", b"1", b"2", b"3"]
        assert core.txn is not None
        assert core.txn.producer.identity.epoch == 0

    @pytest.mark.parametrize(
        "error", [Errors.UNKNOWN_PRODUCER_ID, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER]
    )
    def test_a_gap_raises_the_epoch_and_numbers_from_0(self, error: Errors) -> None:
        core = Core(self.SETTINGS)
        core.append(b"0")
        core.run()
        core.answer(core.requests[0], core.store(core.requests[0]))
        core.append(b"1")
        core.run()
        core.answer(core.requests[0], produced({0: (error, -1)}))
        core.advance(100)
        [request] = core.requests
        header = core.batches(request)[0][2]
        assert (header.producer_epoch, header.base_sequence) == (1, 0)
        core.answer(request, core.store(request))
        assert core.stored[0].values == [b"0", b"1"]

    def test_a_split_batch_keeps_its_sequence_numbers_and_its_codec(self) -> None:
        core = Core({"enable.idempotence": True, "compression.type": "gzip", "linger.ms": 1})
        for number in range(4):
            core.append(b"%d" % number)
        core.advance(1)
        core.answer(core.requests[0], produced({0: (Errors.MESSAGE_TOO_LARGE, -1)}))
        found = []
        for _ in range(2):
            core.advance(1)
            [request] = core.requests
            [(_, _, header)] = core.batches(request)
            found.append((header.base_sequence, header.records_count, header.compression.name))
            core.answer(request, core.store(request))
        assert found == [(0, 2, "GZIP"), (2, 2, "GZIP")]
        assert core.stored[0].values == [b"0", b"1", b"2", b"3"]
        assert core.txn is not None
        assert core.txn.in_flight(TopicPartition("t", 0)) == []

    def test_a_producer_id_is_asked_for_again_after_the_backoff(self) -> None:
        core = Core(self.SETTINGS)
        core.id_error = Errors.COORDINATOR_LOAD_IN_PROGRESS
        core.append(b"a")
        core.run()
        core.advance(100)
        count = core.producer_ids
        assert core.sender.next_run_ms(core.now) == 100
        core.id_error = Errors.NONE
        core.advance(99)
        assert core.producer_ids == count
        core.advance(1)
        assert core.producer_ids == count + 1
        assert len(core.requests) == 1

    def test_a_refusal_that_stays_ends_the_producer(self) -> None:
        core = Core(self.SETTINGS)
        core.append(b"0")
        core.run()
        core.answer(core.requests[0], produced({0: (Errors.CLUSTER_AUTHORIZATION_FAILED, -1)}))
        later = core.append(b"1")
        core.run()
        assert error_of(later).startswith("CLUSTER_AUTHORIZATION_FAILED: ")
        assert not core.requests

    def test_after_an_expired_batch_the_epoch_is_raised(self) -> None:
        core = Core(dict(self.SETTINGS) | {"delivery.timeout.ms": 1_000, "request.timeout.ms": 400})
        core.append(b"0")
        core.run()
        core.answer(core.requests[0], core.store(core.requests[0]))
        core.append(b"lost")
        core.run()
        core.requests.clear()
        core.lose(1)
        core.leaders[0] = (-1, 1)
        core.advance(1_000)
        core.leaders[0] = (1, 2)
        core.append(b"2")
        core.advance(100)
        [request] = core.requests
        header = core.batches(request)[0][2]
        assert (header.producer_epoch, header.base_sequence) == (1, 0)
        core.answer(request, core.store(request))
        assert core.stored[0].values == [b"0", b"2"]


def test_the_accumulator_is_asked_once_in_each_round(monkeypatch: pytest.MonkeyPatch) -> None:
    core = Core({"linger.ms": 50, "retry.backoff.ms": 70})
    asked: list[float] = []
    ready = core.accumulator.ready

    def counted(metadata: Metadata, now: float) -> Ready:
        asked.append(now)
        return ready(metadata, now)

    monkeypatch.setattr(core.accumulator, "ready", counted)
    core.append(b"a")
    core.run()
    asked.clear()
    assert not core.sender.run(core.now)
    assert core.sender.next_run_ms(core.now) == 50
    core.append(b"b")
    assert core.sender.next_run_ms(core.now + 20) == 30
    assert len(asked) == 1
    core.advance(50)
    [request] = core.requests
    core.answer(request, produced({0: (Errors.NOT_ENOUGH_REPLICAS, -1)}))
    asked.clear()
    core.sender.run(core.now)
    assert core.sender.next_run_ms(core.now) == 70
    assert len(asked) == 1
