"""A small cluster of brokers that replicate, without network, tasks or ZooKeeper. The caller calls
each step, so a test or a chapter of the course can stop between any two steps.

These parts are real: the parts of ReplicaManager, Partition, Log, ReplicaFetcher, FetchManager and
the purgatories. These parts are simulated: the controller (`elect`), ZooKeeper (one state with a
version number), and the network. Requests are encoded and decoded, so that a field is lost if the
request's version does not have it.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Final, TypeVar

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.config_def import ConfigValue
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import FileSystem
from kafka_edu.common.time import MockTime, Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.common.turns import at_once
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_manager import LogManager, LogManagerSettings
from kafka_edu.log.offset_checkpoint_file import OffsetCheckpointFile
from kafka_edu.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_edu.protocol.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)
from kafka_edu.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from kafka_edu.record.memory_records import read_all
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.replication.delayed_produce import ProducePartitionStatus
from kafka_edu.replication.fetch_manager import FetchManager
from kafka_edu.replication.fetch_params import FetchParams, PartitionFetch
from kafka_edu.replication.fetch_session_cache import FetchSessionCache
from kafka_edu.replication.high_watermark_checkpoints import (
    HIGH_WATERMARK_FILENAME,
    HighWatermarkCheckpoints,
)
from kafka_edu.replication.isr import IsrProposal
from kafka_edu.replication.isr_writer import IsrUpdates
from kafka_edu.replication.log_read_result import LogReadResult
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partitions import Partitions
from kafka_edu.replication.replica_alter_log_dirs_manager import ReplicaAlterLogDirsManager
from kafka_edu.replication.replica_fetcher import ReplicaFetcher
from kafka_edu.replication.replica_fetcher_thread import fetcher_versions
from kafka_edu.replication.replica_logs import ReplicaLogs
from kafka_edu.replication.replica_manager import ReplicaManager
from kafka_edu.replication.replication_config import ReplicationConfig
from kafka_edu.replication.replication_quota_manager import make_replication_quotas
from kafka_edu.server.config.kafka_config import default_config
from kafka_edu.server.config.part_configs import replication_config
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.trace.event import Source
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer

LOG_DIR: Final = "/data"
T: Final = TopicPartition("t", 0)
Result = TypeVar("Result")


async def _now(call: Callable[[], Result]) -> Result:
    return call()


def run_now(call: Callable[[], Result], /) -> Awaitable[Result]:
    """Call a function at once. This takes the place of a worker thread."""
    return _now(call)


def log_config(min_isr: int = 1, message_format: str = "") -> LogConfig:
    """Return the log settings. `message_format` is message.format.version. "" means the default."""
    settings: dict[str, ConfigValue] = {"min.insync.replicas": min_isr, "segment.index.bytes": 4096}
    if message_format:
        settings["message.format.version"] = message_format
    return LogConfig.parse(settings)


class _LogManagerWithoutWorkers(LogManager):
    """A log manager that needs no event loop. It never writes the file of leader epochs, so after a
    restart it finds epochs only in the batches.
    """

    def write_leader_epochs(self) -> None:
        pass


def open_log_manager(
    file_system: FileSystem, time: Time, min_isr: int = 1, message_format: str = ""
) -> LogManager:
    """Return a log manager that has loaded no logs. If it must create a log that is already on the
    disk, it opens this log.
    """
    settings = LogManagerSettings(
        (LOG_DIR,),
        log_config(min_isr, message_format),
        default_config().num_recovery_threads_per_data_dir,
        default_config().values.get_int("transactional.id.expiration.ms"),
    )
    return _LogManagerWithoutWorkers(settings, file_system, time, run_now)


def batch(*values: str) -> bytes:
    """Return a producer's batch with these values as records."""
    return build_batch(
        [Record(i, 1_600_000_000_000, None, value.encode()) for i, value in enumerate(values)]
    )


class DirectFetchers:
    """Takes the place of ReplicaFetcherManager. It keeps the fetchers, and the test decides when
    they run.
    """

    def __init__(self, broker: "ModelBroker") -> None:
        self._broker = broker
        self.by_leader: dict[int, ReplicaFetcher] = {}

    def add_fetcher_for_partitions(
        self, partitions: Sequence[Partition], live_leaders: Mapping[int, tuple[str, int]]
    ) -> None:
        for partition in partitions:
            fetcher = self.by_leader.get(partition.leader)
            if fetcher is None:
                broker = self._broker
                fetcher = ReplicaFetcher(
                    partition.leader,
                    broker.config,
                    broker.logs,
                    broker.manager.partitions,
                    broker.quotas.follower,
                    broker.trace,
                )
                self.by_leader[partition.leader] = fetcher
            fetcher.add(partition)

    def remove_fetcher_for_partitions(self, topic_partitions: Sequence[TopicPartition]) -> None:
        for fetcher in self.by_leader.values():
            fetcher.remove(topic_partitions)

    def shutdown_idle_fetcher_threads(self) -> None:
        self.by_leader = {
            leader: fetcher for leader, fetcher in self.by_leader.items() if len(fetcher)
        }


class ModelBroker:
    """One broker with one log dir, made of the broker's own classes."""

    def __init__(
        self,
        broker_id: int,
        time: MockTime,
        config: ReplicationConfig,
        min_isr: int,
        message_format: str = "",
    ) -> None:
        self.id = broker_id
        self.time = time
        self.disk = MemoryFileSystem()
        self.disk.make_dirs(LOG_DIR)
        self.config = config
        self.min_isr = min_isr
        self.message_format = message_format
        self.alive = True
        self.trace = Tracer(Source.of_broker(broker_id), time)
        self.ring = RingSink(10_000)
        self.trace.add_sink(self.ring)
        self.proposals: list[IsrProposal] = []
        self._start()

    def _start(self) -> None:
        self.logs: LogManager = open_log_manager(
            self.disk, self.time, self.min_isr, self.message_format
        )
        self.fetchers = DirectFetchers(self)
        self.quotas = make_replication_quotas(self.config, self.time, self.trace)
        self.sessions = FetchManager(FetchSessionCache(10, Random(self.id)))
        cache = MetadataCache(self.id)
        partitions = Partitions(cache, self.logs, self.trace)
        self.checkpoints = HighWatermarkCheckpoints([LOG_DIR], self.disk, run_now, self.trace)
        replica_logs = self.replica_logs = ReplicaLogs(
            self.logs,
            self.checkpoints,
            lambda _: log_config(self.min_isr, self.message_format),
        )
        moves = self.moves = ReplicaAlterLogDirsManager(
            self.config,
            self.time,
            self.logs,
            partitions,
            self.quotas.log_dirs,
            run_now,
            lambda name, error: None,
            self.trace,
        )
        self.manager = ReplicaManager(
            self.config,
            self.time,
            cache,
            partitions,
            IsrUpdates(partitions, self.time),
            replica_logs,
            self.fetchers,
            moves,
            self.proposals.append,
            self.quotas,
            self.trace,
        )

        self.produce_purgatory = self.manager.append.purgatory
        self.fetch_purgatory = self.manager.fetch.purgatory

    def restart(self, high_watermark: int) -> None:
        """Start the broker again as after a kill -9. It has its logs, and `high_watermark` as the
        value in the checkpoint file. Everything else is lost.
        """
        self.alive = True
        self.proposals.clear()
        OffsetCheckpointFile(f"{LOG_DIR}/{HIGH_WATERMARK_FILENAME}", self.disk).write(
            {T: high_watermark}
        )
        self._start()

    @property
    def partition(self) -> Partition:
        partition = self.manager.partitions.get(T)
        assert partition is not None
        return partition

    @property
    def log(self) -> Log:
        return self.partition.local_log()

    @property
    def hw(self) -> int:
        return self.partition.high_watermark.offset

    @property
    def leo(self) -> int:
        return self.log.log_end_offset

    def values(self) -> list[str]:
        """Return every record in the log as text."""
        data = part_bytes(
            self.log.read(
                self.log.log_start_offset, 1 << 20, max_offset=None, min_one_message=True
            ).records
        )
        return [bytes(record.value or b"").decode() for record in read_all(data)]

    def events(self, name: str) -> list[tuple[object, ...]]:
        return [envelope.event for envelope in self.ring.events if envelope.name == name]

    def advance(self) -> None:
        """Let the time-outs of waiting produce and fetch operations take effect."""
        self.produce_purgatory.advance_clock(self.time.hi_res_clock_ms())
        self.fetch_purgatory.advance_clock(self.time.hi_res_clock_ms())


class Produced:
    """The result of a produce call. It may come later."""

    def __init__(self) -> None:
        self.statuses: dict[TopicPartition, ProducePartitionStatus] | None = None

    def __call__(self, statuses: dict[TopicPartition, ProducePartitionStatus]) -> None:
        assert self.statuses is None, "answered twice"
        self.statuses = statuses

    def error(self) -> Errors | None:
        """Return the result's error code, or None while the operation waits."""
        return self.statuses[T].error if self.statuses is not None else None

    @property
    def base_offset(self) -> int:
        assert self.statuses is not None
        return self.statuses[T].base_offset


class SteppedCluster:
    """Brokers 0 … n-1, and one partition t-0 with a replica on each of them. The first `elect`
    gives the leader epoch 0.
    """

    def __init__(
        self,
        brokers: int = 2,
        *,
        min_isr: int = 1,
        wait_ms: int = 0,
        protocol: tuple[int, int] = (2, 0),
        message_format: str = "",
    ) -> None:
        """With the `message_format` "0.10.2" records have no epochs, so followers truncate their
        logs to their high watermark.
        """
        self.time = MockTime()
        self.brokers: list[ModelBroker] = []
        defaults = replication_config(default_config(), broker_id=0)
        for i in range(brokers):
            config = defaults._replace(
                broker_id=i,
                replica_fetch_wait_max_ms=wait_ms,
                inter_broker_protocol_version=protocol,
            )
            self.brokers.append(ModelBroker(i, self.time, config, min_isr, message_format))
        self.state = LeaderAndIsr(-1, -1, (), 0)
        self.versions = fetcher_versions(protocol)

    @property
    def leader(self) -> ModelBroker:
        return self.brokers[self.state.leader]

    def elect(
        self, leader: int, isr: Iterable[int], *, notified: Iterable[int] | None = None
    ) -> list[LeaderAndIsrResponse]:
        """Set a new leader and ISR, as the controller does. Send LeaderAndIsr to the live brokers,
        or only to the brokers in `notified`. Return their responses.
        """
        self.state = LeaderAndIsr(
            leader, self.state.leader_epoch + 1, tuple(isr), self.state.zk_version + 1
        )
        return [
            self.tell(b)
            for b in (range(len(self.brokers)) if notified is None else notified)
            if self.brokers[b].alive
        ]

    def tell(self, broker_id: int, *, controller_epoch: int = 1) -> LeaderAndIsrResponse:
        """Send a LeaderAndIsr request with the current state to one broker. Return its response."""
        state = self.state
        request = LeaderAndIsrRequest(
            controller_id=0,
            controller_epoch=controller_epoch,
            topic_states=[
                LeaderAndIsrTopicState(
                    topic_name=T.topic,
                    partition_states=[
                        LeaderAndIsrPartitionState(
                            partition_index=T.partition,
                            controller_epoch=controller_epoch,
                            leader=state.leader,
                            leader_epoch=state.leader_epoch,
                            isr=list(state.isr),
                            zk_version=state.zk_version,
                            replicas=list(range(len(self.brokers))),
                            is_new=state.leader_epoch == 0,
                        )
                    ],
                )
            ],
            live_leaders=[
                LeaderAndIsrLiveLeader(broker_id=b.id, host_name="h", port=1)
                for b in self.brokers
                if b.alive
            ],
        )
        orders = self.brokers[broker_id].manager.controller_orders
        return at_once(
            orders.become_leader_or_follower(LeaderAndIsrRequest.decode(request.encode(4), 4), 4)
        )

    def settle_isr(self) -> None:
        """Answer the brokers' proposals for a new ISR, as ZooKeeper does. A proposal with an old
        version is refused (compare-and-set).
        """
        for broker in self.brokers:
            proposals, broker.proposals[:] = list(broker.proposals), []
            for proposal in proposals:
                wanted = proposal.state.leader_and_isr
                if wanted.zk_version == self.state.zk_version:
                    self.state = wanted._replace(zk_version=wanted.zk_version + 1)
                    broker.manager.isr_updates.written(proposal, self.state.zk_version)
                else:
                    broker.manager.isr_updates.written(proposal, None)

    def produce(
        self, *values: str, acks: int = -1, timeout_ms: int = 30_000, to: int | None = None
    ) -> Produced:
        answer = Produced()
        broker = self.leader if to is None else self.brokers[to]
        broker.manager.append.append_records(timeout_ms, acks, {T: batch(*values)}, answer)
        return answer

    def consume(
        self, offset: int = 0, *, max_wait_ms: int = 0, min_bytes: int = 1, api_version: int = 10
    ) -> list[LogReadResult]:
        """Fetch from the leader as a consumer. The returned list is empty until the fetch is
        answered.
        """
        answer: list[LogReadResult] = []
        params = FetchParams(-1, max_wait_ms, min_bytes, 1 << 20, api_version)
        infos = [(T, PartitionFetch(offset, -1, 1 << 20))]
        self.leader.manager.fetch.fetch_messages(
            params, infos, lambda results: answer.extend(read for _, read in results)
        )
        return answer

    def fetcher(self, follower: int) -> ReplicaFetcher | None:
        """Return the follower's fetcher for the broker that this follower believes to be the
        leader. Return None if it follows no broker.
        """
        broker = self.brokers[follower]
        return (
            broker.fetchers.by_leader.get(broker.partition.leader)
            if broker.manager.partitions.get(T)
            else None
        )

    def look_up_epochs(self, follower: int) -> None:
        """Let the follower look up its epochs with OffsetForLeaderEpoch, if it needs this now."""
        fetcher = self.fetcher(follower)
        if fetcher is None:
            return
        fetcher.resume_delayed(self.time.hi_res_clock_ms())
        wanted = fetcher.epochs_wanted()
        if not wanted:
            return
        version = self.versions.offset_for_leader_epoch
        request = OffsetForLeaderEpochRequest.decode(
            fetcher.epochs_request(wanted).encode(version), version
        )
        results = []
        for topic in request.topics:
            for p in topic.partitions:
                answer = EpochEndOffset(partition=p.partition)
                try:
                    end = self.brokers[
                        fetcher.leader
                    ].manager.offset_lookup.last_offset_for_leader_epoch(
                        TopicPartition(topic.topic, p.partition),
                        p.leader_epoch,
                        p.current_leader_epoch,
                    )
                    answer.leader_epoch, answer.end_offset = end
                except KafkaException as failure:
                    answer.error_code = failure.error
                results.append(OffsetForLeaderTopicResult(topic=topic.topic, partitions=[answer]))
        response = OffsetForLeaderEpochResponse.decode(
            OffsetForLeaderEpochResponse(topics=results).encode(version), version
        )
        fetcher.on_epochs(wanted, response, self.time.hi_res_clock_ms())

    def send_fetch(self, follower: int) -> list[FetchResponse]:
        """Send the follower's fetch request to the leader. The returned list gets the response when
        the leader answers. At that moment the follower has not processed the response yet.
        """
        fetcher = self.fetcher(follower)
        request = (
            fetcher.fetch_request(self.time.hi_res_clock_ms()) if fetcher is not None else None
        )
        if fetcher is None or request is None:
            return []
        leader = self.brokers[fetcher.leader]
        version = self.versions.fetch
        request = FetchRequest.decode(request.encode(version), version)
        wanted = {
            TopicPartition(t.topic, p.partition): PartitionFetch(
                p.fetch_offset,
                p.log_start_offset,
                p.partition_max_bytes,
                p.current_leader_epoch,
                p.last_fetched_epoch,
            )
            for t in request.topics
            for p in t.partitions
        }
        forgotten = [
            TopicPartition(t.topic, p) for t in request.forgotten_topics_data for p in t.partitions
        ]
        now_ms = self.time.hi_res_clock_ms()
        context = leader.sessions.new_context(
            request.session_id,
            request.session_epoch,
            wanted,
            forgotten,
            follower=str(follower),
            now_ms=now_ms,
        )
        params = FetchParams(
            follower, request.max_wait_ms, request.min_bytes, request.max_bytes, version
        )
        answer: list[FetchResponse] = []

        def respond(results: list[tuple[TopicPartition, LogReadResult]]) -> None:
            answer.append(
                FetchResponse.decode(
                    context.response(results, self.time.hi_res_clock_ms()).encode(version), version
                )
            )

        leader.manager.fetch.fetch_messages(params, context.infos(), respond, context.session)
        return answer

    def receive(self, follower: int, answer: list[FetchResponse]) -> None:
        """Let the follower process the response to its fetch."""
        fetcher = self.fetcher(follower)
        for response in answer:
            assert fetcher is not None
            now_ms, wall_ms = self.time.hi_res_clock_ms(), self.time.milliseconds()
            for tp, state in fetcher.on_fetch(response, now_ms, wall_ms):
                leader_log = self.brokers[fetcher.leader].log
                if not fetcher.on_leader_end_offset(tp, state, leader_log.log_end_offset):
                    fetcher.on_leader_start_offset(
                        tp, state, leader_log.log_start_offset, self.time.hi_res_clock_ms()
                    )

    def fetch(self, *followers: int) -> None:
        """Let each follower make one complete round: look up epochs as often as needed, fetch once,
        append.
        """
        for follower in followers:
            for _ in range(10):
                self.look_up_epochs(follower)
            self.receive(follower, self.send_fetch(follower))

    def step(self, ms: int) -> None:
        """Let `ms` of time pass, and let time-outs take effect."""
        self.time.advance(ms)
        for broker in self.brokers:
            broker.advance()

    def line(self) -> str:
        """Return the offsets in one line, such as `HW 1, LEO 2, remote 1 | HW 0, LEO 1`. The leader
        comes first, then the other live brokers.
        """
        leader = self.leader
        remote = " ".join(
            str(f.log_end_offset.message_offset)
            for b in self.brokers
            if (f := leader.partition.follower(b.id)) is not None
        )
        followers = [f"HW {b.hw}, LEO {b.leo}" for b in self.brokers if b is not leader and b.alive]
        return " | ".join([f"HW {leader.hw}, LEO {leader.leo}, remote {remote}", *followers])
