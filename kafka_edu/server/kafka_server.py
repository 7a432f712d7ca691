"""One broker. KafkaServer starts and stops all its parts in the right order (Kafka:
KafkaServer.scala).

    startup    log dirs (locked), ZooKeeper, cluster id, broker id, logs (recovered after a crash),
               ports, replication, registration, controller, APIs, handlers, accepting connections
    shutdown   controlled shutdown, no new connections, handlers, scheduler, APIs, connections,
               replication, logs (flushed, .kafka_cleanshutdown), controller, ZooKeeper, locks

The caller provides time, transport, ZooKeeper, disk, randomness and workers. So the same class can
run in its own process with real clients, and in the simulator, where several brokers share one
process in virtual time. The KafkaServer object owns all state of the broker. No module has global
state.
"""

import asyncio
import base64
import logging
from collections.abc import Coroutine, Iterable, Sequence
from random import Random
from typing import Final, Protocol

from kafka_edu.cluster.broker import Broker
from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import KafkaException
from kafka_edu.common.files import FileSystem
from kafka_edu.common.run_blocking import RunBlocking
from kafka_edu.common.tasks import report_failure
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import Transport
from kafka_edu.controller.kafka_controller import KafkaController
from kafka_edu.log.cleaner.log_cleaner import LogCleaner, RunJob
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_dirs import LogDirInUseError, LogDirs
from kafka_edu.log.log_manager import LogManager, LogManagerSettings
from kafka_edu.network.channel import KafkaChannel
from kafka_edu.network.request_channel import DataPlaneRequestChannel, RequestChannel
from kafka_edu.network.socket_server import (
    CONTROL_PLANE_QUEUED_REQUESTS,
    ControlPlane,
    SocketServer,
)
from kafka_edu.replication.assembly import Replication
from kafka_edu.replication.high_watermark_checkpoints import HighWatermarkCheckpoints
from kafka_edu.replication.replication_quota_manager import make_replication_quotas
from kafka_edu.server.admin.finalized_features import FinalizedFeatures
from kafka_edu.server.api_assembly import ApiAssembly
from kafka_edu.server.broker_metadata_checkpoint import (
    BrokerMetadata,
    BrokerMetadataCheckpoint,
    check_cluster_id,
    read_broker_metadata,
    settle_broker_id,
)
from kafka_edu.server.broker_parts import BrokerParts
from kafka_edu.server.broker_state import VALID_NEXT_STATES, BrokerState
from kafka_edu.server.config.config_handlers import (
    BrokerConfigHandler,
    TopicConfigHandler,
    config_handlers,
    connect_reconfigurables,
)
from kafka_edu.server.config.dynamic_broker_config import CAPTURE, DynamicBrokerConfig
from kafka_edu.server.config.dynamic_config_manager import DynamicConfigManager
from kafka_edu.server.config.kafka_config import KafkaConfig
from kafka_edu.server.config.part_configs import (
    cleaner_config,
    controller_config,
    network_config,
    replication_config,
)
from kafka_edu.server.config.replication_throttles import ReplicationThrottles
from kafka_edu.server.config.topic_configs import TopicConfigs
from kafka_edu.server.controlled_shutdown import ControlledShutdown, Outcome
from kafka_edu.server.frame_captures import FrameCaptures
from kafka_edu.server.health.loop_watchdog import LoopHeld, LoopWatchdog
from kafka_edu.server.health.request_watchdog import RequestWatchdog
from kafka_edu.server.kafka_scheduler import KafkaScheduler
from kafka_edu.trace.event import Event, Source
from kafka_edu.trace.events.server import (
    BackgroundTaskFailed,
    BrokerRegistered,
    BrokerSnapshot,
    BrokerStateChanged,
    ClusterJoined,
    ServerSampled,
    ServerStarted,
    ServerStarting,
    ServerStopped,
    ServerStopping,
    SessionLost,
)
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_client import SessionState, WatchedEvent, ZkClient, ZkError, ZkErrorCode
from kafka_edu.zk.zk_data import FEATURES

log = logging.getLogger(__name__)

INITIAL_TASK_DELAY_MS: Final = 30_000


class StartupError(Exception):
    """The broker cannot start. The text gives the reason for the user."""


class Process(Protocol):
    """The facts a broker needs about its own process."""

    @property
    def pid(self) -> int: ...

    def memory(self) -> tuple[int, int]:
        """Return the resident and the anonymous resident memory in bytes, each 0 if it is
        unknown.
        """
        ...

    def cpu_ms(self) -> int:
        """Return the CPU time in ms that the loop's thread has used so far."""
        ...

    def rearm_watchdog(self) -> None:
        """Restart the timer of the watchdog, because the loop is alive."""
        ...

    def loop_held(self) -> LoopHeld:
        """Return what blocked the loop since the last call of this method."""
        ...


class VirtualProcess:
    """The process facts of a broker that shares its process with other brokers, as in the
    simulator.
    """

    pid = 0

    def memory(self) -> tuple[int, int]:
        return 0, 0

    def cpu_ms(self) -> int:
        return 0

    def rearm_watchdog(self) -> None:
        """Do nothing, because the loop cannot hang in virtual time."""

    def loop_held(self) -> LoopHeld:
        return LoopHeld()


def make_control_plane(
    config: KafkaConfig, time: Time, trace: Tracer | None
) -> ControlPlane | None:
    """Return the control plane of the listener control.plane.listener.name, or None if that is not
    set.
    """
    name = config.control_plane_listener_name
    return (
        None
        if name is None
        else ControlPlane(name, RequestChannel(time, CONTROL_PLANE_QUEUED_REQUESTS, trace))
    )


class KafkaServer:
    """One broker. After `startup` it serves requests until `shutdown`. The event `failed` is set
    when the broker cannot continue.
    """

    def __init__(
        self,
        config: KafkaConfig,
        *,
        time: Time,
        transport: Transport,
        zk_client: ZkClient,
        file_system: FileSystem,
        random: Random,
        tracer: Tracer | None,
        run_blocking: RunBlocking,
        run_clean_job: RunJob,
        process: Process | None = None,
    ) -> None:
        """`run_clean_job` carries out one pass of log compaction, outside the broker's loop."""
        self.config = config
        self.broker_id = config.broker_id
        self.cluster_id = ""
        self.state = BrokerState.NOT_RUNNING
        self.failed = asyncio.Event()
        """Set when a part has failed in a way that the broker cannot handle. The owner must then
        shut the broker down. `failure` holds the reason.
        """
        self.failure = ""
        self._time = time
        self._transport = transport
        self._zk_client = zk_client
        self.dynamic_config = DynamicBrokerConfig(config, tracer)
        self._file_system = file_system
        self._random = random
        self._trace = tracer
        self._run_blocking = run_blocking
        self._run_clean_job = run_clean_job
        self._process: Process = process or VirtualProcess()
        self._end_points: tuple[str, ...] = ()
        self._zk = KafkaZkClient(
            zk_client,
            time,
            inter_broker_protocol=config.inter_broker_protocol_version,
            max_in_flight=config.zookeeper_max_in_flight_requests,
        )
        self._scheduler = KafkaScheduler(time, self.on_failure)
        self._control_plane = make_control_plane(config, time, tracer)
        self._request_channel = (
            DataPlaneRequestChannel if self._control_plane else RequestChannel
        )(time, config.queued_max_requests, tracer)
        self._log_dirs = LogDirs(config.log_dirs, file_system, tracer)
        self._log_dirs_opened = False
        self._log_manager: LogManager | None = None
        self._cleaner: LogCleaner | None = None
        self._socket_server: SocketServer | None = None
        self._captures: FrameCaptures | None = None
        self._replication: Replication | None = None
        self._controller: KafkaController | None = None
        self._apis: ApiAssembly | None = None
        self._config_changes: DynamicConfigManager | None = None
        self._features = FinalizedFeatures(self._zk)
        self._tasks: list[asyncio.Task[None]] = []
        self._early_session_states: list[SessionState] = []
        """The states of the ZooKeeper session since the broker's registration began. The controller
        is created later and then gets these states.
        """
        if tracer:
            tracer.on_snapshot(self._snapshot)
            tracer.on_gauges(self._gauges)

    def open_log_dirs(self) -> None:
        """Create, check and lock the log dirs. Call this before you open any file in the dirs, also
        the events file and the recording. Another broker may be using the dirs.

        Raises StartupError if another broker uses one of the dirs, or if no dir is usable.
        """
        try:
            self._log_dirs.open()
        except LogDirInUseError as error:
            raise StartupError(str(error)) from error
        self._log_dirs_opened = True
        self._check_a_log_dir_is_left()

    def _check_a_log_dir_is_left(self) -> None:
        if not self._log_dirs.live:
            raise StartupError(
                "Shutdown broker because none of the specified log dirs from"
                f" {', '.join(self._log_dirs.all)} can be created or validated:"
                f" {self._log_dirs.failures()}. Repair one of them, or set log.dirs to others."
            )

    @property
    def replication(self) -> Replication | None:
        """The replicas of this broker, so that the simulator can check them. None before
        `startup`.
        """
        return self._replication

    @property
    def channels(self) -> Iterable[KafkaChannel]:
        """The connections of this broker, so that the simulator can check them. Empty before
        `startup`.
        """
        return self._socket_server.channels() if self._socket_server is not None else ()

    async def startup(self) -> None:
        """Start all parts. If the broker cannot run, raise an exception that gives the reason
        (OSError, ZkError, InconsistentBrokerIdError …). The caller must then call `shutdown`.
        """
        began_ms = self._time.hi_res_clock_ms()
        self._enter(BrokerState.STARTING)
        if self._trace:
            self._trace(ServerStarting(api_level=self.config.api_level, pid=self._process.pid))
        if not self._log_dirs_opened:
            self.open_log_dirs()
        config = self.config
        process = self._process
        self._spawn(
            "loop-watchdog",
            LoopWatchdog(
                self._time,
                self._trace,
                process.cpu_ms,
                process.rearm_watchdog,
                process.loop_held,
            ).run(),
        )
        await self._connect_to_zookeeper()
        await self._join_cluster()
        changes = self._config_changes = DynamicConfigManager(self._zk, self._time, self._trace)
        await changes.startup()
        quotas = make_replication_quotas(
            replication_config(config, self.broker_id), self._time, self._trace
        )
        throttles = ReplicationThrottles(self.broker_id, quotas, self._time)
        broker_configs = BrokerConfigHandler(
            self.broker_id, self._zk, self.dynamic_config, throttles
        )
        await broker_configs.read_all()
        config = self.config = self.dynamic_config.current
        defaults = self.dynamic_config.log_defaults
        topic_configs = TopicConfigs(
            defaults, self._zk.get_topic_configs, self._trace, throttles.take_topic
        )
        await topic_configs.load(await self._zk.get_all_topics_in_cluster())
        log_manager = self._make_log_manager(defaults)
        checkpoints = HighWatermarkCheckpoints(
            list(config.log_dirs), self._file_system, self._run_blocking, self._trace
        )
        self._check_high_watermarks(log_manager, checkpoints)
        await log_manager.load_logs(topic_configs.loaded)
        # Set this attribute only now. If the start fails before this point, the logs are only half
        # read, and the shutdown must not mark them as clean.
        self._log_manager = log_manager
        cache = MetadataCache(self.broker_id, self._trace)
        socket_server = self._socket_server = self._make_socket_server()
        await socket_server.bind()
        captures = self._captures = FrameCaptures(
            socket_server, self.broker_id, self._time, self._trace
        )
        captures.apply(config)
        self.dynamic_config.add(CAPTURE, captures.apply)
        replication = self._replication = Replication(
            replication_config(self.config, self.broker_id),
            self._time,
            self._transport,
            log_manager,
            cache,
            self._zk,
            checkpoints,
            topic_configs.of,
            quotas,
            self.on_failure,
            self._run_blocking,
            self._trace,
        )
        await replication.startup(self._scheduler)
        self._schedule_log_work(log_manager)
        await self._start_cleaner(log_manager)
        broker = await self._register(socket_server)
        self._checkpoint_broker_metadata(log_manager)
        controller = self._controller = KafkaController(
            controller_config(self.config),
            self._zk,
            broker,
            self._time,
            self._transport,
            self._random,
            self._trace,
        )
        await controller.startup()
        for state in self._early_session_states:
            controller.on_session(state)
        apis = self._apis = self._make_apis(cache, replication, controller, topic_configs)
        connect_reconfigurables(
            self.dynamic_config,
            topic_configs,
            log_manager,
            socket_server,
            replication,
            controller,
            apis.handlers,
        )
        handlers = config_handlers(
            broker_configs, TopicConfigHandler(topic_configs, log_manager, controller)
        )
        self._spawn("config-changes", changes.run(handlers))
        if config.inter_broker_protocol_version >= FEATURES:
            await self._features.startup()
            self._spawn("finalized-features", self._features.run())
        await apis.startup()
        self._spawn(
            "request-watchdog",
            RequestWatchdog(
                socket_server.channels, apis.apis.timeout_ms, self._time, self._trace
            ).run(),
        )
        socket_server.start_processing()
        self._enter(BrokerState.RUNNING)
        if self._trace:
            self._trace(
                ServerStarted(
                    broker_id=self.broker_id,
                    end_points=self._end_points,
                    startup_ms=self._time.hi_res_clock_ms() - began_ms,
                )
            )

    async def _connect_to_zookeeper(self) -> None:
        timeout_ms = self.config.zookeeper_connection_timeout_ms
        try:
            await self._zk.start(self._on_watch, self._on_session, timeout_ms)
        except ZkError as error:
            where = f"{self.config.zookeeper_connect} (zookeeper.connect)"
            raise StartupError(
                f"there is no ZooKeeper at {where}, or it did not answer within {timeout_ms} ms:"
                f" {error}"
            ) from error

    async def _join_cluster(self) -> None:
        """Find the cluster id and the broker id in ZooKeeper and the log dirs, and check that they
        agree (book §6.5.1).
        """
        config = self.config
        await self._zk.create_top_level_paths()
        proposed = base64.urlsafe_b64encode(self._random.randbytes(16)).decode().rstrip("=")
        self.cluster_id = await self._zk.create_or_get_cluster_id(proposed)
        stored = read_broker_metadata(self._log_dirs.live, self._file_system, self._log_dirs.fail)
        self._check_a_log_dir_is_left()
        check_cluster_id(stored, self.cluster_id)
        generate = (
            (lambda: self._zk.generate_broker_id(config.reserved_broker_max_id))
            if config.broker_id_generation_enable
            else None
        )
        self.broker_id, source = await settle_broker_id(stored, config.broker_id, generate)
        if self._trace:
            self._trace.source = Source.of_broker(self.broker_id)
            self._trace(
                ClusterJoined(
                    cluster_id=self.cluster_id, broker_id=self.broker_id, id_source=source
                )
            )

    def _make_log_manager(self, defaults: LogConfig) -> LogManager:
        settings = LogManagerSettings(
            tuple(self.config.log_dirs),
            defaults,
            self.config.num_recovery_threads_per_data_dir,
            self.config.values.get_int("transactional.id.expiration.ms"),
        )
        return LogManager(
            settings,
            self._file_system,
            self._time,
            self._run_blocking,
            self._trace,
            failed_log_dirs=self._log_dirs.failed,
            on_log_dir_failure=self._on_log_dir_failure,
            on_failure=self.on_failure,
            random=self._random,
        )

    def _make_socket_server(self) -> SocketServer:
        config = self.config
        return SocketServer(
            config.listeners,
            self._transport,
            self._time,
            self._request_channel,
            self._trace,
            network_config(config),
            inter_broker_listener=config.inter_broker_listener_name,
            control_plane=self._control_plane,
            on_failure=self.on_failure,
        )

    def _check_high_watermarks(
        self, log_manager: LogManager, checkpoints: HighWatermarkCheckpoints
    ) -> None:
        """Take a log dir offline if its file of high watermarks cannot be read.

        Kafka notices the broken file only when the first replica in the dir becomes leader or
        follower. By then the broker has reported that it is ready. Raises StartupError if no dir is
        left.
        """
        for log_dir in self._log_dirs.live:
            try:
                checkpoints.read(log_dir)
            except KafkaException as failure:
                reason = f"{failure.message}. Remove this file: the broker learns its values again"
                log_manager.handle_log_dir_failure(log_dir, OSError(reason))
        self._check_a_log_dir_is_left()

    async def _start_cleaner(self, log_manager: LogManager) -> None:
        cleaner = self._cleaner = LogCleaner(
            cleaner_config(self.config),
            log_manager,
            self._file_system,
            self._time,
            self._run_clean_job,
            self._run_blocking,
            self.on_failure,
            self._trace,
        )
        await cleaner.start()

    def _schedule_log_work(self, log_manager: LogManager) -> None:
        """Schedule the log manager's periodic work. Each piece of work has the same name as in
        Kafka.
        """
        config, schedule = self.config, self._scheduler.schedule
        for name, work, period_ms in (
            (
                "kafka-log-retention",
                lambda: log_manager.cleanup_logs(self._time.milliseconds()),
                config.log_retention_check_interval_ms,
            ),
            (
                "kafka-log-flusher",
                lambda: log_manager.flush_dirty_logs(self._time.milliseconds()),
                config.log_flush_scheduler_interval_ms,
            ),
            (
                "kafka-recovery-point-checkpoint",
                log_manager.checkpoint_recovery_point_offsets,
                config.log_flush_offset_checkpoint_interval_ms,
            ),
            (
                "kafka-log-start-offset-checkpoint",
                log_manager.checkpoint_log_start_offsets,
                config.log_flush_start_offset_checkpoint_interval_ms,
            ),
        ):
            schedule(name, work, delay_ms=INITIAL_TASK_DELAY_MS, period_ms=period_ms)

    async def _register(self, socket_server: SocketServer) -> Broker:
        """Register in /brokers/ids. If a killed broker with the same id has left a znode, first
        wait until ZooKeeper removes it when that broker's session expires.
        """
        config = self.config
        broker = Broker(
            self.broker_id, config.advertised_listeners(socket_server.bound_ports), config.rack
        )
        self._end_points = tuple(map(str, broker.end_points))
        # Before this registration, an expired session lost nothing.
        self._early_session_states.clear()
        try:
            epoch = await self._zk.register_broker(
                broker, wait_ms=2 * config.zookeeper_session_timeout_ms
            )
        except ZkError as error:
            if error.code is not ZkErrorCode.NODE_EXISTS:
                raise
            raise StartupError(
                f"another broker has the id {self.broker_id}: {error.path} still exists after twice"
                " the session time-out. Give this broker another broker.id"
            ) from error
        if self._trace:
            self._trace(
                BrokerRegistered(
                    broker_id=self.broker_id,
                    broker_epoch=epoch,
                    end_points=self._end_points,
                    session_id=self._zk.session_id,
                )
            )
        return broker._replace(epoch=epoch)

    def _checkpoint_broker_metadata(self, log_manager: LogManager) -> None:
        """Write meta.properties into each log dir in which the file or the cluster id is missing.
        This happens after the registration, because only then it is certain that no other broker
        has the same id.
        """
        metadata = BrokerMetadata(self.broker_id, self.cluster_id)
        for log_dir in log_manager.live_log_dirs:
            checkpoint = BrokerMetadataCheckpoint(log_dir, self._file_system)
            try:
                if checkpoint.read() != metadata:
                    checkpoint.write(metadata, self._time.milliseconds())
            except OSError as error:
                log_manager.handle_log_dir_failure(log_dir, error)

    def _make_apis(
        self,
        cache: MetadataCache,
        replication: Replication,
        controller: KafkaController,
        topic_configs: TopicConfigs,
    ) -> ApiAssembly:
        return ApiAssembly(
            BrokerParts(
                self.config,
                self.broker_id,
                self.cluster_id,
                self._time,
                self._transport,
                self._random,
                self._trace,
                self._zk,
                self._request_channel,
                self._control_plane,
                cache,
                replication,
                controller,
                topic_configs,
                self.dynamic_config,
                self._features,
                self.on_failure,
            )
        )

    def _on_watch(self, watched: WatchedEvent) -> None:
        if self._controller is not None:
            self._controller.on_watch(watched)
        if self._config_changes is not None:
            self._config_changes.on_watch(watched)
        self._features.on_watch(watched)

    def _on_session(self, state: SessionState) -> None:
        """Handle a new state of the ZooKeeper session. When the session expires, this broker's
        registration is lost. When there is a new session, the controller registers the broker again
        (spec Z5).
        """
        if state is SessionState.EXPIRED:
            if self._trace:
                self._trace(SessionLost(broker_id=self.broker_id, session_id=self._zk.session_id))
        elif state is SessionState.AUTH_FAILED:
            self._fail("ZooKeeper refused our credentials")
        elif state is SessionState.CONNECTED and self._config_changes is not None:
            self._config_changes.on_new_session()
            self._features.on_new_session()
        if self._controller is not None:
            self._controller.on_session(state)
        else:
            self._early_session_states.append(state)

    def _on_log_dir_failure(
        self, log_dir: str, reason: OSError, partitions: Sequence[TopicPartition]
    ) -> None:
        """Handle a failed log dir. Its partitions go offline on this broker, and other brokers
        become their leaders (spec S5). If no usable dir is left, the broker stops.
        """
        self._log_dirs.fail(log_dir, reason)
        log.error(
            "log dir %s failed: %s. Its %d partitions are offline on this broker until it is"
            " restarted with the dir repaired: %s",
            log_dir,
            reason,
            len(partitions),
            ", ".join(map(str, partitions)) or "none",
        )
        if self._replication is not None:
            for tp in partitions:
                self._replication.replicas.partitions.take_offline(tp)
        if not self._log_dirs.live:
            dirs = ", ".join(self._log_dirs.all)
            self._fail(
                f"Shutdown broker because all log dirs in {dirs} have failed:"
                f" {self._log_dirs.failures()}. Repair one of them and start the broker again."
            )
        elif self._replication is not None:
            self._spawn("log-dir-event", self._propagate_log_dir_event())

    async def _propagate_log_dir_event(self) -> None:
        """Notify the controller, which then finds out which partitions of this broker are
        offline.
        """
        try:
            await self._zk.propagate_log_dir_event(self.broker_id)
        except ZkError as error:
            log.warning("could not report the failed log dir to the controller: %s", error)

    def on_failure(self, name: str, error: BaseException) -> None:
        """Report the exception of a background task, and stop the broker. So no part of a broker
        ends unnoticed.
        """
        log.error("background task %s failed", name, exc_info=error)
        if self._trace:
            self._trace(BackgroundTaskFailed(task=name, error=f"{type(error).__name__}: {error}"))
        self._fail(f"{name} failed: {type(error).__name__}: {error}")

    def _fail(self, reason: str) -> None:
        self.failure = self.failure or reason
        self.failed.set()

    def _spawn(self, name: str, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.append(task)
        self._watch_task(task)

    def _watch_task(self, task: asyncio.Task[None]) -> None:
        report_failure(task, lambda name, error: self.on_failure(name, error))

    async def shutdown(self, reason: str) -> None:
        """Stop all parts in order. This works in any state of the broker. Afterwards all
        acknowledged records are on disk, and the next start needs no recovery.
        """
        if self.state in (BrokerState.SHUTTING_DOWN, BrokerState.NOT_RUNNING):
            return
        began_ms = self._time.hi_res_clock_ms()
        if self._trace:
            self._trace(ServerStopping(broker_id=self.broker_id, reason=reason))
        was_running = self.state is BrokerState.RUNNING
        if self._replication is not None:
            self._replication.begin_shutdown()
        if was_running and self.config.controlled_shutdown_enable and self._controller is not None:
            self._enter(BrokerState.PENDING_CONTROLLED_SHUTDOWN)
            match await self._controlled_shutdown(self._controller).run():
                case Outcome.FAILED:
                    log.warning(
                        "the controlled shutdown did not succeed. The broker stops anyway. Its"
                        " partitions have no leader until the controller notices that it is gone"
                    )
                case Outcome.NO_ZOOKEEPER:
                    log.warning(
                        "ZooKeeper does not answer, so the broker cannot hand its leaderships over."
                        " It stops anyway. Its partitions have no leader until ZooKeeper is back."
                        " If ZooKeeper has stopped, its log says why: a full disk, for example"
                    )
                case Outcome.NO_SUCCESSOR:
                    log.info(
                        "no other live broker has a replica of the partitions that this broker"
                        " still leads. They have no leader until a broker of their ISR starts again"
                    )
                case Outcome.SUCCEEDED:
                    pass
        self._enter(BrokerState.SHUTTING_DOWN)
        if self._socket_server is not None:
            self._socket_server.stop_accepting()
        if self._apis is not None:
            await self._apis.shutdown_handlers()
        await self._scheduler.shutdown()
        if self._apis is not None:
            await self._apis.shutdown()
        if self._socket_server is not None:
            # Close the connections early. Clients then notice the shutdown at once, and do not wait
            # while the logs are flushed.
            self._socket_server.shutdown()
        if self._captures is not None:
            self._captures.stop("the broker stops")
        if self._replication is not None:
            await self._replication.shutdown()
        if self._cleaner is not None:
            await self._cleaner.shutdown()
        if self._log_manager is not None:
            await self._log_manager.shutdown()
        if self._controller is not None:
            await self._controller.shutdown()
        await self._zk.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._log_dirs.release_all()
        self._enter(BrokerState.NOT_RUNNING)
        if self._trace:
            self._trace(
                ServerStopped(
                    broker_id=self.broker_id,
                    clean=self._log_manager is not None,
                    shutdown_ms=self._time.hi_res_clock_ms() - began_ms,
                )
            )

    def _controlled_shutdown(self, controller: KafkaController) -> ControlledShutdown:
        config = self.config
        return ControlledShutdown(
            self.broker_id,
            lambda: controller.broker_epoch,
            self._zk,
            self._transport,
            self._time,
            self._trace,
            listener_name=config.inter_broker_listener_name,
            inter_broker_protocol=config.inter_broker_protocol_version,
            max_retries=config.controlled_shutdown_max_retries,
            retry_backoff_ms=config.controlled_shutdown_retry_backoff_ms,
            socket_timeout_ms=config.controller_socket_timeout_ms,
        )

    def _enter(self, state: BrokerState) -> None:
        """Set the next state of the broker."""
        if state not in VALID_NEXT_STATES[self.state]:
            raise RuntimeError(f"a broker cannot change from {self.state} to {state}")
        before, self.state = self.state, state
        if self._trace:
            self._trace(BrokerStateChanged(broker_id=self.broker_id, before=before, after=state))

    def _snapshot(self) -> Iterable[Event]:
        epoch = self._controller.broker_epoch if self._controller else -1
        end_points = self._controller.end_points if self._controller else self._end_points
        yield BrokerSnapshot(
            broker_id=self.broker_id,
            broker_epoch=epoch,
            cluster_id=self.cluster_id,
            state=self.state,
            end_points=end_points,
            rack=self.config.rack,
            pid=self._process.pid,
            session_id=self._zk.session_id,
        )

    def _gauges(self) -> Iterable[Event]:
        requests = tuple(sorted(self._apis.apis.requests.items())) if self._apis else ()
        busy, size = (self._apis.handlers.busy, self._apis.handlers.size) if self._apis else (0, 0)
        rss_bytes, rss_anon_bytes = self._process.memory()
        yield ServerSampled(
            handlers_busy=busy,
            handlers=size,
            requests=requests,
            rss_bytes=rss_bytes,
            rss_anon_bytes=rss_anon_bytes,
        )
