"""The controller of every broker; only one of them is active.

(Kafka: KafkaController.scala; book 000 §6.4.1, 003.) The broker that created the ephemeral znode
/controller is the active controller. Only this broker watches the cluster's znodes. It decides
which replicas lead, writes its decisions to ZooKeeper, and sends them to the brokers. The other
brokers watch only /controller.

    watch, request, timer → put → ControllerEventManager → one method of ActiveController
    → state machines → request batch → channels ⇒ brokers

At an election, /controller_epoch grows by one, in the same multi that creates /controller. From
then on, every write checks the version of that znode, and every request carries the epoch. So a
replaced controller that does not know about the new one can do no harm. The new controller reads
the whole context from ZooKeeper. At a resignation, watches are ignored, channels are closed, and
the context is thrown away. The first controller of a cluster has epoch 1.

/controller may be deleted or written by hand. If /controller is deleted, every broker runs for
election. If another broker id (or no id) is written into it, the controller reads that and resigns,
as in Kafka. The znode still belongs to the controller's session. So the controller deletes the
znode, and an election follows, as the book says. (Kafka leaves the znode. The broker whose id was
written then acts as the controller without an election.) If /controller was created by hand, the
znode belongs to no session, and the first broker that reads it deletes it.

KafkaController owns the event task and the rebalance timer. It leaves the decisions to
ActiveController and to the plain functions and tables that ActiveController uses.

Next: `ControllerEventManager.put` (controller_event_manager.py).
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Final, NoReturn, TypeVar

from kafka_edu.cluster.broker import Broker, EndPoint
from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import Transport
from kafka_edu.controller.active_controller import ActiveController, ControllerConfig
from kafka_edu.controller.candidate import (
    FIRED,
    MOST_STEPS,
    SESSION_LOST,
    START,
    Came,
    Candidate,
    candidate_of,
)
from kafka_edu.controller.controller_channel_manager import (
    ControllerChannelManager,
    ControllerChannels,
    OnResponse,
)
from kafka_edu.controller.controller_event_manager import ControllerEventManager
from kafka_edu.controller.controller_events import (
    AlterIsrReceived,
    AnsweredEvent,
    ApiPartitionReassignment,
    AutoPreferredReplicaLeaderElection,
    BrokerChange,
    BrokerModifications,
    ControlledShutdown,
    ControllerChange,
    ControllerEvent,
    Expire,
    IsrChangeNotification,
    LeaderAndIsrResponseReceived,
    ListPartitionReassignments,
    LogDirEventNotification,
    PartitionModifications,
    PartitionReassignmentIsrChange,
    PreferredReplicaElection,
    Reelect,
    RegisterBrokerAndReelect,
    ReplicaLeaderElection,
    Startup,
    TopicChange,
    TopicDeletion,
    TopicDeletionStopReplicaResponseReceived,
    TopicUncleanLeaderElectionEnable,
    UncleanLeaderElectionEnable,
    UpdateBrokerInfo,
    ZkPartitionReassignment,
)
from kafka_edu.controller.controller_responses import event_of_response
from kafka_edu.controller.controller_watches import event_of_watch
from kafka_edu.controller.isr_alterations import AlteredIsr
from kafka_edu.controller.partition_reassignment_plan import ReassignmentResult
from kafka_edu.controller.partition_state_machine import (
    VALID_PREVIOUS_STATES as PARTITION_TABLE,
)
from kafka_edu.controller.replica_state_machine import VALID_PREVIOUS_STATES as REPLICA_TABLE
from kafka_edu.controller.requested_elections import (
    ElectionResult,
    ElectionTrigger,
    ElectionType,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.controller import (
    ActiveControllerChanged,
    ControllerElected,
    ControllerResigned,
    ControllerSampled,
    ControllerSnapshot,
    ZkWatchFired,
)
from kafka_edu.trace.events.server import BrokerRegistered
from kafka_edu.trace.state_machine_table import state_machine_table
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_client import SessionState, WatchedEvent, ZkError, ZkErrorCode
from kafka_edu.zk.zk_data import ControllerZNode, ReplicaAssignment
from kafka_edu.zk.zk_requests import ControllerMovedError

T = TypeVar("T")
NO_CONTROLLER: Final = -1
NO_SESSION: Final = 0
FIRST_REBALANCE_DELAY_MS: Final = 5_000


class BrokerIdTakenError(Exception):
    """Another broker registered with our broker id while our session was lost.

    So this broker can no longer be part of the cluster. The error ends the event task and then the
    broker.
    """


class KafkaController:
    """The controller of one broker, active or not.

    It is started after the broker is registered. `on_watch` and `on_session` must be called with
    every watch and every session state that this broker receives from ZooKeeper.
    """

    def __init__(
        self,
        config: ControllerConfig,
        zk: KafkaZkClient,
        broker: Broker,
        time: Time,
        transport: Transport,
        random: Random,
        trace: Tracer | None = None,
        channels: Callable[[OnResponse], ControllerChannels] | None = None,
    ) -> None:
        """Create the controller; `startup` starts it.

        `broker.epoch` must be the result of `register_broker`. Tests pass `channels` to replace the
        real connections to brokers.
        """
        self._config = config
        self._zk = zk
        self._broker = broker
        self._time = time
        self._random = random
        self._trace = trace
        self._events = ControllerEventManager(self._process_or_give_way, time, trace)
        self._tell = self._events.tell if trace else None
        self._term: ActiveController | None = None
        self._channels: ControllerChannels | None = None
        self._rebalance_timer: asyncio.Task[None] | None = None
        self._active_controller_id = NO_CONTROLLER
        self._epoch = 0
        self._epoch_zk_version = 0
        self._session_expired = False
        self._candidate = candidate_of(broker.id)
        self._won: tuple[int, int] | None = None
        """The controller epoch that the candidate has just won, and its znode version."""
        self._make_channels = channels or (
            lambda on_response: ControllerChannelManager(
                broker.id,
                config.listener_name,
                transport,
                time,
                on_response,
                trace,
                self._events.cause,
                config.controller_socket_timeout_ms,
            )
        )
        if trace:
            trace.on_snapshot(self._snapshot)
            trace.on_gauges(self._gauges)

    # Called by other parts of the broker.

    @property
    def is_active(self) -> bool:
        """Whether this broker is the controller, as far as this broker knows."""
        return self._term is not None

    @property
    def epoch(self) -> int:
        """The controller epoch of the last election that this broker won; 0 if it never won."""
        return self._epoch

    @property
    def active_controller_id(self) -> int:
        """The broker id that was last read from /controller; -1 if there was none."""
        return self._active_controller_id

    @property
    def broker_epoch(self) -> int:
        """The epoch of this broker's registration; a registration in a new session changes it.

        Requests with an older broker epoch are stale (KIP-380).
        """
        return self._broker.epoch

    @property
    def end_points(self) -> tuple[str, ...]:
        """The advertised addresses of this broker."""
        return tuple(map(str, self._broker.end_points))

    def is_topic_queued_for_deletion(self, topic: str) -> bool:
        """Return whether the topic is being deleted.

        Only the active controller knows; the result on other brokers is False.
        """
        return self._term is not None and self._term.context.is_topic_queued_up_for_deletion(topic)

    async def startup(self) -> None:
        """Start the event task; return before its first event, the election, is processed."""
        self._events.start()
        self._events.put(Startup())

    async def shutdown(self) -> None:
        """End the event task and resign.

        The ephemeral /controller disappears when the ZooKeeper session is closed.
        """
        await self._events.close()
        await self._resign("the broker is shutting down")

    def on_watch(self, watched: WatchedEvent) -> None:
        """Turn a change of a znode into an event (`event_of_watch`), and queue the event.

        KafkaServer calls this method with each watch of the ZooKeeper client. On a broker that is
        not the controller, only the watch of /controller matters. If another watch fires there, the
        broker set that watch when it was the controller. Next: `ControllerEventManager.put`.
        """
        event = event_of_watch(watched)
        if event is None or (self._term is None and watched.path != ControllerZNode.PATH):
            return
        if (
            isinstance(event, PartitionReassignmentIsrChange)
            and self._term
            and not self._term.reassignments.note_isr_change(event.topic_partition)
        ):
            return  # the event that is already queued will cover this change too
        if self._trace:
            fired = ZkWatchFired(
                path=watched.path,
                type=watched.type.name,
                session_id=self._zk.session_id,
                after_zxid=self._zk.watch_after_zxid,
            )
            with self._trace.because(self._trace(fired)):
                self._events.put(event)
        else:
            self._events.put(event)

    def on_session(self, state: SessionState) -> None:
        """React to the state of the ZooKeeper session.

        If the session has expired, resign before any other event. When there is a new session,
        register this broker again and run for election.
        """
        if state is SessionState.EXPIRED:
            self._session_expired = True
            self._events.clear_and_put(Expire())
        elif state is SessionState.CONNECTED and self._session_expired:
            self._session_expired = False
            self._events.put(RegisterBrokerAndReelect())

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> list[TopicPartition]:
        """Move leaderships from a stopping broker to other brokers; return the partitions that the
        stopping broker still leads.

        A `broker_epoch` of -1 is not checked. Raises KafkaException: STALE_CONTROLLER_EPOCH if this
        broker is not the controller, STALE_BROKER_EPOCH if the epoch is old, and
        BROKER_NOT_AVAILABLE if the stopping broker is not alive.
        """
        return await self._answer_of(
            lambda answer: ControlledShutdown(broker_id, broker_epoch, answer),
            Errors.STALE_CONTROLLER_EPOCH,
        )

    async def elect_leaders(
        self, partitions: Iterable[TopicPartition], election_type: ElectionType
    ) -> dict[TopicPartition, ElectionResult]:
        """Hold the requested elections, and return each partition's result.

        See `requested_elections`. Raises KafkaException (NOT_CONTROLLER).
        """
        return await self._answer_of(
            lambda answer: ReplicaLeaderElection(tuple(partitions), election_type, answer)
        )

    async def alter_partition_reassignments(
        self, wanted: Mapping[TopicPartition, Sequence[int] | None]
    ) -> dict[TopicPartition, ReassignmentResult]:
        """Begin, change or cancel reassignments; see `PartitionReassignments.alter`.

        Raises KafkaException (NOT_CONTROLLER).
        """
        return await self._answer_of(lambda answer: ApiPartitionReassignment(wanted, answer))

    async def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None
    ) -> dict[TopicPartition, ReplicaAssignment]:
        """Return the assignments of those `partitions` that are being reassigned.

        None means all partitions. Raises KafkaException (NOT_CONTROLLER).
        """
        return await self._answer_of(
            lambda answer: ListPartitionReassignments(
                None if partitions is None else tuple(partitions), answer
            )
        )

    async def alter_isrs(
        self, broker_id: int, broker_epoch: int, wanted: Mapping[TopicPartition, LeaderAndIsr]
    ) -> dict[TopicPartition, AlteredIsr]:
        """Write the ISRs that a leader requests; see `isr_alterations`.

        Raises KafkaException with NOT_CONTROLLER or STALE_BROKER_EPOCH.
        """
        return await self._answer_of(
            lambda answer: AlterIsrReceived(broker_id, broker_epoch, wanted, answer)
        )

    async def _answer_of(
        self,
        make: Callable[[asyncio.Future[T]], AnsweredEvent],
        moved: Errors = Errors.NOT_CONTROLLER,
    ) -> T:
        """Queue an event, wait until it is processed, and return its answer.

        Raises KafkaException with the error `moved` if another broker is the controller, or becomes
        the controller while this call waits.
        """
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._events.put(make(answer))
        try:
            return await answer
        except (ConnectionError, ControllerMovedError, ZkError) as error:
            raise KafkaException(moved, str(error)) from error
        finally:
            # `answer` may hold an error whose traceback refers to this frame, which refers to
            # `answer`. `del` breaks this reference cycle, so that the memory is freed at once.
            del answer

    def update_broker_info(self, end_points: tuple[EndPoint, ...]) -> None:
        """Advertise this broker at `end_points` from now on.

        The broker writes the addresses into its znode, and the controller sends them to all brokers
        (Kafka: updateBrokerInfo).
        """
        self._events.put(UpdateBrokerInfo(end_points))

    def enable_unclean_leader_election(self, topic: str) -> None:
        """React to a topic that allows unclean elections from now on.

        The controller tries to elect a leader for each partition of the topic that has none.
        """
        self._events.put(TopicUncleanLeaderElectionEnable(topic))

    def set_unclean_leader_election(self, enabled: bool) -> None:
        """Set unclean.leader.election.enable of this broker.

        While this broker is the controller, the value holds for all topics that do not set the key
        themselves.
        """
        self._config = self._config._replace(unclean_leader_election_enable=enabled)
        if self._term is not None:
            self._term.set_unclean_by_default(enabled)
        if enabled:
            self._events.put(UncleanLeaderElectionEnable())

    # The event task.

    async def _process_or_give_way(self, event: ControllerEvent) -> str:
        """Process one event, and return the reason of a failure, or "".

        A ZooKeeper error ends the processing of this event, but not the controller.
        """
        try:
            try:
                await self._process(event)
            except ControllerMovedError as error:
                await self._give_way()
                return str(error)
        except ZkError as error:
            return str(error)
        return ""

    async def _process(self, event: ControllerEvent) -> None:
        match event:
            case Startup():
                await self._run_for_office(START)
            case ControllerChange() | Reelect():
                await self._run_for_office(FIRED)
            case Expire():
                self._set_active_controller_id(NO_CONTROLLER)
                await self._resign("the session has expired")
            case RegisterBrokerAndReelect():
                await self._register_again()
                await self._run_for_office(SESSION_LOST)
            case UpdateBrokerInfo(end_points):
                self._broker = self._broker._replace(end_points=end_points)
                await self._zk.update_broker_info(self._broker)
            case ControlledShutdown(broker_id, broker_epoch, answer):
                term = self._term
                await _answer(
                    answer,
                    (
                        term.controlled_shutdown(broker_id, broker_epoch)
                        if term
                        else _refuse(Errors.STALE_CONTROLLER_EPOCH)
                    ),
                )
            case ReplicaLeaderElection(partitions, election_type, answer):
                await _answer(
                    answer,
                    (
                        self._term.elect_leaders(partitions, election_type, ElectionTrigger.ADMIN)
                        if self._term
                        else _refuse()
                    ),
                )
            case ApiPartitionReassignment(wanted, answer):
                await _answer(
                    answer, self._term.reassignments.alter(wanted) if self._term else _refuse()
                )
            case ListPartitionReassignments(partitions, answer):
                await _answer(
                    answer,
                    (
                        self._term.list_partition_reassignments(partitions)
                        if self._term
                        else _refuse()
                    ),
                )
            case AlterIsrReceived(broker_id, broker_epoch, wanted, answer):
                await _answer(
                    answer,
                    (
                        self._term.alter_isrs(broker_id, broker_epoch, wanted)
                        if self._term
                        else _refuse()
                    ),
                )
            case _:
                if self._term is not None:
                    await self._process_in_office(self._term, event)

    async def _register_again(self) -> None:
        """Register this broker again in a new session, with a new broker epoch.

        The broker's znode in /brokers/ids was deleted with the old session. Every registration
        after the broker's start is done by this method. Raises BrokerIdTakenError.
        """
        try:
            epoch = await self._zk.register_broker(self._broker)
        except ZkError as error:
            if error.code is not ZkErrorCode.NODE_EXISTS:
                raise
            raise BrokerIdTakenError(
                f"while our session was lost, another broker has registered as {self._broker.id}"
            ) from error
        broker = self._broker = self._broker._replace(epoch=epoch)
        if self._trace:
            self._trace(
                BrokerRegistered(
                    broker_id=broker.id,
                    broker_epoch=broker.epoch,
                    end_points=self.end_points,
                    session_id=self._zk.session_id,
                )
            )

    async def _process_in_office(self, term: ActiveController, event: ControllerEvent) -> None:
        match event:
            case BrokerChange():
                await term.broker_change()
            case BrokerModifications(broker_id):
                await term.broker_modifications(broker_id)
            case TopicChange():
                await term.topic_change()
            case PartitionModifications(topic):
                await term.partition_modifications(topic)
            case TopicDeletion():
                await term.topic_deletion()
            case IsrChangeNotification():
                await term.isr_change_notification()
            case LogDirEventNotification():
                await term.log_dir_event_notification()
            case PreferredReplicaElection():
                await term.preferred_replica_election()
            case AutoPreferredReplicaLeaderElection():
                await term.auto_leader_rebalance()
            case ZkPartitionReassignment():
                await term.reassignments.order()
            case PartitionReassignmentIsrChange():
                await term.reassignments.isr_changed()
            case UncleanLeaderElectionEnable():
                await term.unclean_leader_election_enable()
            case TopicUncleanLeaderElectionEnable(topic):
                await term.unclean_leader_election_enable(topic)
            case LeaderAndIsrResponseReceived(broker_id, offline, online):
                await term.leader_and_isr_response(broker_id, offline, online)
            case TopicDeletionStopReplicaResponseReceived(broker_id, deleted, failed):
                await term.stop_replica_response(broker_id, deleted, failed)

    # Election and resignation.

    async def _run_for_office(self, came: Came) -> None:
        """Read /controller, and run for election if there is no controller. `came` is the
        reason.
        """
        if self._candidate is not None:
            if await self._carry_out(self._candidate, came):
                return
            self._candidate = None
        await self._look_at_controller()
        await self._elect()

    async def _carry_out(self, candidate: Candidate, came: Came) -> bool:
        """Do each operation that the candidate returns, until it returns "wait" or "lead".

        Return False if the candidate makes no more decisions. In that case the controller must
        decide by itself.
        """
        for _ in range(MOST_STEPS):
            match candidate.next(came):
                case None:
                    return False
                case ("look",):
                    id_, owner = await self._zk.watch_controller()
                    self._set_active_controller_id(NO_CONTROLLER if id_ is None else id_)
                    came = "office", id_, owner == self._zk.session_id
                case ("read_epoch",):
                    came = "epoch", *(await self._zk.get_controller_epoch() or (None, None))
                case ("create_epoch",):
                    created = await self._zk.create_controller_epoch()
                    came = ("created",) if created else ("node_exists",)
                case ("run", int(epoch), int(version)):
                    refused = await self._zk.register_controller(self._broker.id, epoch, version)
                    self._won = (epoch, version + 1) if refused is None else None
                    came = ("won",) if refused is None else (refused.name.lower(),)
                case ("delete", int(version)):
                    came = ("deleted",)
                    try:
                        await self._zk.delete_controller(version)
                    except ControllerMovedError:
                        came = ("bad_version",)
                case ("resign",):
                    await self._resign(f"/controller says {self._active_controller_id}")
                    came = ("resigned",)
                case ("lead", int()) if self._won is not None:
                    await self._resign("it has run again")  # if it led already
                    (self._epoch, self._epoch_zk_version), self._won = self._won, None
                    await self._take_office()
                    return True
                case _:
                    return True
        candidate.endless()
        return False

    async def _look_at_controller(self) -> None:
        """Read and watch /controller, and resign if it does not name this broker.

        The znode is deleted if it belongs to no active controller (see this module's docstring).
        """
        controller_id, owner = await self._zk.watch_controller()
        self._set_active_controller_id(NO_CONTROLLER if controller_id is None else controller_id)
        if self._term is not None and controller_id == self._broker.id:
            return
        await self._resign(f"/controller says {controller_id}")
        if owner is not None and (
            owner in (NO_SESSION, self._zk.session_id) or controller_id == self._broker.id
        ):
            await self._zk.delete_stray_controller(owner)

    async def _give_way(self) -> None:
        """React to a write that was refused because /controller_epoch has a different version now.

        If /controller still names this broker, somebody wrote /controller_epoch by hand. Then this
        broker resigns and deletes /controller, so that there is a new election.
        """
        await self._look_at_controller()
        if self._term is not None:
            await self._resign("another broker has changed /controller_epoch")
            await self._zk.delete_stray_controller(self._zk.session_id)

    async def _elect(self) -> None:
        """Try to become the controller if there is none."""
        if self._active_controller_id != NO_CONTROLLER:
            return
        try:
            (
                self._epoch,
                self._epoch_zk_version,
            ) = await self._zk.register_controller_and_increment_epoch(self._broker.id)
        except ControllerMovedError:
            await self._look_at_controller()
            return
        await self._take_office()

    async def _take_office(self) -> None:
        """Become the active controller, with the epoch of the election that was just won."""
        self._set_active_controller_id(self._broker.id)
        if self._tell:
            self._tell(
                ControllerElected(epoch=self._epoch, epoch_zk_version=self._epoch_zk_version)
            )
        self._channels = self._make_channels(self._on_response)
        self._term = ActiveController(
            self._broker.id,
            self._config,
            self._epoch,
            self._epoch_zk_version,
            self._zk,
            self._channels,
            self._random,
            self._time,
            self._tell,
        )
        if self._config.auto_leader_rebalance_enable:
            self._rebalance_timer = asyncio.create_task(
                self._rebalance_now_and_then(), name="auto-leader-rebalance-task"
            )
        try:
            await self._term.take_office()
        except ZkError as error:
            await self._resign(f"it could not take office: {error}")
            with contextlib.suppress(ControllerMovedError):
                await self._zk.delete_controller(self._epoch_zk_version)
            raise

    async def _resign(self, reason: str) -> None:
        """If this broker is the active controller, make it resign, and drop the controller's
        state.
        """
        term, self._term = self._term, None
        if term is None:
            return
        if self._rebalance_timer is not None:
            self._rebalance_timer.cancel()
            self._rebalance_timer = None
        await term.leave_office()
        self._channels = None
        if self._tell:
            self._tell(ControllerResigned(epoch=self._epoch, reason=reason))

    def _set_active_controller_id(self, controller_id: int) -> None:
        if controller_id != self._active_controller_id:
            self._active_controller_id = controller_id
            if self._tell:
                self._tell(ActiveControllerChanged(controller_id=controller_id))

    def _on_response(self, broker_id: int, request: Message, response: Message) -> None:
        """Turn a broker's response into an event, and queue the event."""
        if (event := event_of_response(broker_id, request, response)) is not None:
            self._events.put(event)

    async def _rebalance_now_and_then(self) -> None:
        await self._time.sleep(FIRST_REBALANCE_DELAY_MS)
        while True:
            self._events.put(AutoPreferredReplicaLeaderElection())
            await self._time.sleep(self._config.leader_imbalance_check_interval_seconds * 1000)

    # Snapshots and gauges for the trace.

    def _snapshot(self) -> Iterator[Event]:
        yield state_machine_table("partition", PARTITION_TABLE)
        yield state_machine_table("replica", REPLICA_TABLE)
        yield ControllerSnapshot(
            active=self.is_active,
            controller_id=self._active_controller_id,
            epoch=self._epoch,
            epoch_zk_version=self._epoch_zk_version,
            queue_size=self._events.size,
        )
        if self._term is not None:
            yield from self._term.snapshot()

    def _gauges(self) -> Iterator[Event]:
        size, waited_ms = self._events.size, self._events.queue_time_ms
        if self._term is None:
            yield ControllerSampled(
                active=False,
                queue_size=size,
                queue_time_ms=waited_ms,
                live_brokers=0,
                topics=0,
                partitions=0,
                offline_partitions=0,
                preferred_replica_imbalance=0,
                requests_queued=0,
            )
            return
        context = self._term.context
        yield ControllerSampled(
            active=True,
            queue_size=size,
            queue_time_ms=waited_ms,
            live_brokers=len(context.live_or_shutting_down_broker_ids),
            topics=context.topic_count,
            partitions=context.partition_count,
            offline_partitions=context.offline_partition_count,
            preferred_replica_imbalance=context.preferred_replica_imbalance,
            requests_queued=self._channels.queued if self._channels else 0,
            unclean_elections=context.unclean_elections,
        )


async def _refuse(error: Errors = Errors.NOT_CONTROLLER) -> NoReturn:
    raise KafkaException(error, "this broker is not the controller")


async def _answer(answer: asyncio.Future[T], work: Awaitable[T]) -> None:
    """Complete the future `answer` with the result or the error of `work`.

    A ZooKeeper error is also raised, because the controller itself must react to it.
    """
    try:
        result = await work
    except KafkaException as refusal:
        if not answer.done():
            # From Python 3.13 on, the frames of the traceback refer to the event, which refers to
            # `answer`. Without the traceback there is no reference cycle.
            answer.set_exception(refusal.with_traceback(None))
    except (ControllerMovedError, ZkError) as error:
        if not answer.done():
            answer.set_exception(error)
        raise
    else:
        if not answer.done():
            answer.set_result(result)
    finally:
        del answer  # breaks a reference cycle, as in `_answer_of`
