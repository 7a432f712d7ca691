"""The stopping broker's part of a controlled shutdown (Kafka: KafkaServer.controlledShutdown; book
§6.4.2; spec G1).

The broker asks the controller to move the broker's leaderships to other brokers. Only after that
does it stop. So clients find new leaders at once. After a kill they would have to wait for the
session time-out. The controller's response contains the partitions that could not be moved. The
shutdown succeeds if the response has no error and no remaining partition. Otherwise the broker
tries again after controlled.shutdown.retry.backoff.ms, up to controlled.shutdown.max.retries times
in all. Then it stops in any case.

When a whole cluster stops, the last brokers cannot succeed, because no broker is left that could
take over their partitions. If no other registered broker has a replica of the remaining partitions,
there is no warning. A broker that is the only registered one does not even try again. (Apache Kafka
warns and tries again in both cases.)

If ZooKeeper does not answer, the broker cannot find the controller. Then it does not try again,
because each attempt would wait for ZooKeeper. (Apache Kafka waits until ZooKeeper is back.)
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Set
from enum import StrEnum
from typing import Final, TypeVar

from kafka_edu.cluster.broker import Broker, EndPoint
from kafka_edu.common.errors import Errors
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import Transport
from kafka_edu.controller.kafka_controller import NO_CONTROLLER
from kafka_edu.controller.shutdown_steps import BEGIN, FAILED, Came, ShutdownSteps
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.trace.events.server import ControlledShutdownAttempted
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_client import ZkError

T = TypeVar("T")

#: Pairs of an inter.broker.protocol.version and a version of the request. The newest pair comes
#: first. The first pair that is not newer than the broker's own version counts.
VERSIONS: Final = (((2, 4), 3), ((2, 2), 2), ((0, 9), 1), ((0, 0), 0))
ZOOKEEPER_TIMEOUT_S: Final = 6.0
"""How long to wait for an answer of ZooKeeper, in seconds. Without this limit the client would wait
for ever, and the broker could not stop while ZooKeeper is lost.
"""


def controlled_shutdown_version(inter_broker_protocol: tuple[int, int]) -> int:
    """Return the version of the ControlledShutdown request that belongs to this
    inter.broker.protocol.version.
    """
    return next(version for since, version in VERSIONS if inter_broker_protocol >= since)


class Outcome(StrEnum):
    """The possible results of a controlled shutdown."""

    SUCCEEDED = "SUCCEEDED"
    NO_SUCCESSOR = "NO_SUCCESSOR"
    """The broker still leads partitions, but no other registered broker has a replica of them."""
    NO_ZOOKEEPER = "NO_ZOOKEEPER"
    """ZooKeeper did not answer within ZOOKEEPER_TIMEOUT_S, so no request was sent to a
    controller.
    """
    FAILED = "FAILED"


class ControlledShutdown:
    """Carries out the steps that `ShutdownSteps` returns, until the step is to stop. Each attempt
    calls `broker_epoch`, because the epoch changes when the session expires.
    """

    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        zk: KafkaZkClient,
        transport: Transport,
        time: Time,
        trace: Tracer | None,
        *,
        listener_name: str,
        inter_broker_protocol: tuple[int, int],
        max_retries: int,
        retry_backoff_ms: int,
        socket_timeout_ms: int,
    ) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._zk = zk
        self._transport = transport
        self._time = time
        self._trace = trace
        self._listener_name = listener_name
        self._version = controlled_shutdown_version(inter_broker_protocol)
        self._max_retries = max_retries
        self._retry_backoff_ms = retry_backoff_ms
        self._socket_timeout_ms = socket_timeout_ms
        self._zookeeper_silent = False
        self._client = self._new_client()
        self._attempt = 0
        self._controller_id = NO_CONTROLLER
        self._end_point: EndPoint | None = None
        self._error = ""
        """A text about the error of the last attempt."""
        self._remaining: list[TopicPartition] = []
        self._others: set[int] | None = None
        """The ids of the other registered brokers, as found in the last attempt. None if they are
        not known.
        """

    def _new_client(self) -> NetworkClient:
        return NetworkClient(self._transport, f"broker-{self._broker_id}-controlled-shutdown")

    async def run(self) -> Outcome:
        steps = ShutdownSteps(self._max_retries, self._retry_backoff_ms)
        came = BEGIN
        try:
            while True:
                match steps.next(came):
                    case ("stop", done):
                        return Outcome.SUCCEEDED if done else await self._without_success()
                    case ("wait", int(ms)):
                        await self._time.sleep(ms)
                        came = ("waited",)
                        continue
                    case ("find",):
                        self._attempt += 1
                        came = await self._find()
                    case ("connect", int(controller_id)):
                        came = await self._connect(controller_id)
                    case _:
                        came = await self._ask()
                ended = await self._look_at(came)
                if ended is not None:
                    return ended
        finally:
            self._client.close()

    async def _look_at(self, came: Came) -> Outcome | None:
        """If `came` ends an attempt, emit an event about the attempt. Return an outcome if another
        attempt makes no sense, otherwise None.
        """
        match came:
            case ("answer", str(error), list(remaining)):
                self._error = error
            case ("failed",) | ("controller", None):
                remaining = self._remaining = []
            case _:
                return None
        if self._trace:
            self._trace(
                ControlledShutdownAttempted(
                    attempt=self._attempt,
                    controller_id=self._controller_id,
                    error=self._error,
                    partitions_remaining=len(remaining),
                )
            )
        if self._error == Errors.NONE.name and not remaining:
            return None
        if not self._zookeeper_silent:
            self._others = await self._other_brokers()
        if self._zookeeper_silent:
            return Outcome.NO_ZOOKEEPER
        return Outcome.NO_SUCCESSOR if self._others == set() else None

    async def _without_success(self) -> Outcome:
        """Return why the controlled shutdown has not succeeded."""
        others, remaining = self._others, self._remaining
        if others is None or not remaining or await self._has_replicas(others, remaining):
            return Outcome.FAILED
        return Outcome.NO_SUCCESSOR

    async def _read(self, reading: Awaitable[T]) -> T:
        """Await a read from ZooKeeper and return its result. Raises TimeoutError after
        ZOOKEEPER_TIMEOUT_S, ZkError.
        """
        try:
            async with asyncio.timeout(ZOOKEEPER_TIMEOUT_S):
                return await reading
        except TimeoutError:
            self._zookeeper_silent = True
            raise

    async def _other_brokers(self) -> set[int] | None:
        """Return the ids of the other registered brokers, or None if ZooKeeper does not answer."""
        try:
            return set(await self._read(self._zk.get_broker_ids())) - {self._broker_id}
        except (TimeoutError, ZkError):
            return None

    async def _has_replicas(
        self, brokers: Set[int], partitions: Collection[TopicPartition]
    ) -> bool:
        """Return whether one of `brokers` has a replica of one of `partitions`. Also return True if
        ZooKeeper does not answer.
        """
        try:
            assignments = await self._read(
                self._zk.get_assignment_for_topics({tp.topic for tp in partitions})
            )
        except (TimeoutError, ZkError):
            return True
        return any(
            not brokers.isdisjoint(assignments[tp.topic].partitions[tp.partition].replicas)
            for tp in partitions
            if tp.topic in assignments and tp.partition in assignments[tp.topic].partitions
        )

    async def _controller(self) -> tuple[int, Broker | None]:
        """Return the controller's id, and its registration or None if it is not registered."""
        found = await self._zk.get_controller_id()
        return (NO_CONTROLLER, None) if found is None else (found, await self._zk.get_broker(found))

    async def _find(self) -> Came:
        """Find the id and the address of the controller in ZooKeeper."""
        self._controller_id, self._end_point = NO_CONTROLLER, None
        self._error = "there is no controller"
        try:
            self._controller_id, broker = await self._read(self._controller())
        except (TimeoutError, ZkError) as error:
            self._error = f"{type(error).__name__}: {error}"
            return "controller", None
        self._end_point = broker.end_point(self._listener_name) if broker else None
        return "controller", None if self._end_point is None else self._controller_id

    async def _connect(self, controller_id: int) -> Came:
        """Connect to the controller whose address was found."""
        self._client.close()
        self._client = self._new_client()
        if self._end_point is None or controller_id != self._controller_id:
            self._error = f"broker {controller_id} is not the controller that was found"
            return FAILED
        end_point = self._end_point
        try:
            await self._client.connect(end_point.host, end_point.port, self._socket_timeout_ms)
        except (OSError, TimeoutError) as error:
            self._error = f"{type(error).__name__}: {error}"
            return FAILED
        return ("connected",)

    async def _ask(self) -> Came:
        """Send a ControlledShutdown request to the controller, and return the answer."""
        request = ControlledShutdownRequest(
            broker_id=self._broker_id, broker_epoch=self._broker_epoch()
        )
        try:
            response = await self._client.ask(
                request, self._version, ControlledShutdownResponse, self._socket_timeout_ms
            )
        except (OSError, TimeoutError, ProtocolError) as error:
            self._error = f"{type(error).__name__}: {error}"
            return FAILED
        self._remaining = [
            TopicPartition(each.topic_name, each.partition_index)
            for each in response.remaining_partitions
        ]
        return "answer", Errors.of(response.error_code).name, [str(tp) for tp in self._remaining]
