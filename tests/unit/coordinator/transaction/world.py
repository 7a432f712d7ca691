"""A transaction coordinator on real logs in memory.

One broker leads everything; a second one may lead some partitions. Appends can be held back or
fail.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import Buffer
from kafka_edu.common.time import MockTime
from kafka_edu.common.topic import TRANSACTION_STATE_TOPIC_NAME
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.transaction.marker_writer import MarkerWriter
from kafka_edu.coordinator.transaction.transaction_coordinator import (
    NOBODY,
    InitProducerIdResult,
    ProducerIdAndEpoch,
    Requester,
    TransactionCoordinator,
)
from kafka_edu.coordinator.transaction.transaction_marker_channel_manager import (
    TransactionMarkerChannelManager,
)
from kafka_edu.coordinator.transaction.transaction_metadata import TransactionMetadata
from kafka_edu.coordinator.transaction.transaction_records import (
    read_transaction_key,
    read_transaction_value,
)
from kafka_edu.coordinator.transaction.transaction_state_manager import (
    TransactionConfig,
    TransactionStateManager,
)
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kafka_edu.record.control_record import read_end_transaction_marker
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch, iter_headers, read_records
from kafka_edu.replication.delayed_produce import ProducePartitionStatus
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.trace.event import Source
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from tests.defaults import PRODUCER_ID_EXPIRATION_MS

STATE: Final = TopicPartition(TRANSACTION_STATE_TOPIC_NAME, 0)
DATA: Final = tuple(TopicPartition("t", i) for i in range(3))
OFFSETS: Final = TopicPartition("__consumer_offsets", 4)
HERE: Final = 1
CONFIG: Final = TransactionConfig(
    1_000_000, 900_000, 1 << 20, 10_000, 60_000, 30_000, "PLAINTEXT", 1
)


class FakePartition:
    def __init__(self, log: Log) -> None:
        self.log = log


class FakeReplicas:
    """Really appends, and answers when the test says so."""

    def __init__(self, time: MockTime) -> None:
        self._time = time
        files = MemoryFileSystem()
        self.logs = {
            tp: load_log(
                tp,
                "/d",
                f"/d/{tp}",
                files,
                LogConfig.parse({"segment.index.bytes": "1000"}),
                max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
            )[0]
            for tp in (STATE, OFFSETS, *DATA)
        }
        self.errors: dict[TopicPartition, Errors] = {}
        """The errors with which appends to a partition are refused."""
        self.held: list[Callable[[], None]] | None = None
        """The responses that wait, while this is a list."""

    def get(self, tp: TopicPartition) -> FakePartition | None:
        return FakePartition(self.logs[tp]) if tp in self.logs else None

    def append_records(
        self,
        timeout_ms: int,
        required_acks: int,
        entries: dict[TopicPartition, Buffer],
        respond: Callable[[dict[TopicPartition, ProducePartitionStatus]], None],
        *,
        origin: AppendOrigin,
    ) -> None:
        assert required_acks == -1
        assert origin is AppendOrigin.COORDINATOR
        results = {}
        for tp, batch in entries.items():
            error = self.errors.get(tp, Errors.NONE)
            if error is Errors.NONE:
                log = self.logs[tp]
                try:
                    log.append_as_leader(bytes(batch), 0, self._time.milliseconds(), origin=origin)
                    log.update_high_watermark(log.log_end_offset)
                except KafkaException as refused:
                    error = refused.error
            results[tp] = ProducePartitionStatus.failed(error)
        if self.held is None:
            respond(results)
        else:
            self.held.append(lambda: respond(results))

    def hold(self) -> None:
        self.held = []

    def release(self) -> None:
        held, self.held = self.held, None
        for answer in held or ():
            answer()


class World:
    """The parts that outlive a coordinator: the logs, the ids given out, the clock."""

    def __init__(self, leaders: dict[TopicPartition, int] | None = None) -> None:
        self.time = MockTime()
        self.replicas = FakeReplicas(self.time)
        self.trace = Tracer(Source.of_broker(HERE), self.time)
        self.ring = RingSink()
        self.trace.add_sink(self.ring)
        self.cache = MetadataCache(HERE)
        self.leaders = dict.fromkeys((OFFSETS, *DATA), HERE) | (leaders or {})
        self.learn()
        self.next_id = 1000
        self.epoch = 0
        self.offsets_completed: list[tuple[int, list[int], bool]] = []
        self.failures: list[BaseException] = []
        self.restart()

    def learn(self) -> None:
        """Set the leaders in the metadata cache."""
        topics: dict[str, UpdateMetadataTopicState] = {}
        for tp, leader in self.leaders.items():
            state = UpdateMetadataPartitionState(
                partition_index=tp.partition,
                controller_epoch=1,
                leader=leader,
                leader_epoch=0,
                isr=[leader],
                zk_version=0,
                replicas=[leader],
            )
            topics.setdefault(
                tp.topic, UpdateMetadataTopicState(topic_name=tp.topic, partition_states=[])
            ).partition_states.append(state)
        live = [
            UpdateMetadataBroker(
                id=b,
                endpoints=[
                    UpdateMetadataEndpoint(
                        port=9000 + b, host="localhost", listener="PLAINTEXT", security_protocol=0
                    )
                ],
            )
            for b in (1, 2)
        ]
        self.cache.update(
            UpdateMetadataRequest(
                controller_id=1,
                controller_epoch=1,
                topic_states=list(topics.values()),
                live_brokers=live,
            )
        )

    def restart(self) -> None:
        """Start a new coordinator. After `loaded`, it knows only the content of the log."""
        self.epoch += 1
        # Fakes are enough where only their methods are used; tests are not type-checked.
        self.states = TransactionStateManager(
            CONFIG, self.replicas, self.replicas, self.time, lambda: 1, self._failed, self.trace
        )
        self.writer = MarkerWriter(
            self.replicas,
            self.replicas,
            self.time,
            30_000,
            lambda *told: self.offsets_completed.append(told),
        )
        self.markers = TransactionMarkerChannelManager(
            HERE,
            CONFIG,
            self.cache,
            self.states,
            self.writer,
            self._exists,
            None,
            self.time,
            self._failed,
            self.trace,
        )
        self.coordinator = TransactionCoordinator(
            CONFIG, self.states, self.markers, self._generate, self.time, self.trace
        )
        self.coordinator.on_election(0, self.epoch)

    async def _exists(self, tp: TopicPartition) -> bool:
        return tp in self.leaders

    def _failed(self, _: str, error: BaseException) -> None:
        self.failures.append(error)

    async def _generate(self) -> int:
        await asyncio.sleep(0)
        self.next_id += 1
        return self.next_id

    async def settle(self) -> None:
        """Run all tasks that can continue; the clock moves by the time that they sleep."""
        for _ in range(20):
            await asyncio.sleep(0)
        assert not self.failures, self.failures

    async def init(
        self,
        transactional_id: str = "a",
        expected: ProducerIdAndEpoch | None = None,
        timeout_ms: int = 60_000,
        requester: Requester = NOBODY,
    ) -> InitProducerIdResult:
        """Return the response; a raised error becomes a response with that error, as in the API."""
        answers: list[InitProducerIdResult] = []
        try:
            await self.coordinator.handle_init_producer_id(
                transactional_id, timeout_ms, expected, answers.append, requester
            )
        except KafkaException as refused:
            return InitProducerIdResult(-1, -1, refused.error)
        await self.settle()
        (answer,) = answers
        return answer

    async def start(
        self, transactional_id: str = "a", timeout_ms: int = 60_000
    ) -> ProducerIdAndEpoch:
        """Initialise the producer. If an open transaction must be aborted first, ask a second time.
        It must succeed.
        """
        answer = await self.init(transactional_id, timeout_ms=timeout_ms)
        if answer.error is Errors.CONCURRENT_TRANSACTIONS:
            answer = await self.init(transactional_id, timeout_ms=timeout_ms)
        assert answer.error is Errors.NONE, answer
        return ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch)

    def add(
        self, producer: ProducerIdAndEpoch, *partitions: TopicPartition, transactional_id: str = "a"
    ) -> Errors | None:
        """Return the response; None if there is none yet."""
        answers: list[Errors] = []
        self.coordinator.handle_add_partitions_to_transaction(
            transactional_id, producer, partitions or DATA, answers.append
        )
        return answers[0] if answers else None

    def end(
        self, producer: ProducerIdAndEpoch, commit: bool = True, transactional_id: str = "a"
    ) -> Errors | None:
        answers: list[Errors] = []
        self.coordinator.handle_end_transaction(transactional_id, producer, commit, answers.append)
        return answers[0] if answers else None

    def write(self, producer: ProducerIdAndEpoch, tp: TopicPartition, sequence: int) -> None:
        """Append one record of the producer in its transaction. Raises the errors of the log."""
        batch = build_batch(
            [Record(0, self.time.milliseconds(), b"k", b"v")],
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        log = self.replicas.logs[tp]
        log.append_as_leader(batch, 0, self.time.milliseconds())
        log.update_high_watermark(log.log_end_offset)

    def metadata(self, transactional_id: str = "a") -> TransactionMetadata:
        known = self.states.get_transaction_state(transactional_id)
        assert known is not None
        return known.metadata

    def batches(self, tp: TopicPartition) -> list[bytes]:
        found = []
        for segment in self.replicas.logs[tp].segments:
            data = segment.log.pread(segment.size, 0)
            found += [data[at : at + header.size_in_bytes] for at, header in iter_headers(data)]
        return found

    def markers_in(self, tp: TopicPartition) -> list[tuple[int, int, str, int]]:
        """Return (producer id, epoch, COMMIT or ABORT, coordinator epoch) of each marker."""
        found = []
        for batch in self.batches(tp):
            header = next(iter_headers(batch))[1]
            if header.is_control:
                marker = read_end_transaction_marker(batch)
                found.append(
                    (
                        header.producer_id,
                        header.producer_epoch,
                        marker.type.name,
                        marker.coordinator_epoch,
                    )
                )
        return found

    def states_logged(self) -> list[tuple[str, str]]:
        """Return (transactional id, state) of each record of `__transaction_state`.

        The state of a tombstone is empty.
        """
        found = []
        for batch in self.batches(STATE):
            for record in read_records(batch):
                value = read_transaction_value(record.value) if record.value is not None else None
                found.append((read_transaction_key(record.key), value.state if value else ""))
        return found

    def events(self, kind: type) -> list[tuple[object, ...]]:
        return [envelope.event for envelope in self.ring.events if isinstance(envelope.event, kind)]
