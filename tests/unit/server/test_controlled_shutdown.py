"""The stopping broker's part: which controller it asks, with which request, how often, and what
counts as success (spec G1).
"""

from collections.abc import Callable, Collection
from random import Random

import pytest

from kafka_edu.cluster.broker import Broker, EndPoint
from kafka_edu.cluster.topic_assignment import ReplicaAssignment, TopicAssignment
from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import Wire
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.framing import FrameReceiver
from kafka_edu.protocol.headers import decode_request_header, encode_response
from kafka_edu.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from kafka_edu.server.controlled_shutdown import (
    ZOOKEEPER_TIMEOUT_S,
    ControlledShutdown,
    Outcome,
)
from kafka_edu.sim.memory_transport import MemoryNetwork, MemoryTransport
from kafka_edu.sim.sim_loop import SimLoop, SimTime
from kafka_edu.trace.event import Source
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.zk_client import ZkError, ZkErrorCode

DONE = ControlledShutdownResponse(error_code=Errors.NONE, remaining_partitions=[])
LEFT = ControlledShutdownResponse(
    error_code=Errors.NONE,
    remaining_partitions=[RemainingPartition(topic_name="t", partition_index=n) for n in range(2)],
)
MOVED = ControlledShutdownResponse(
    error_code=Errors.STALE_CONTROLLER_EPOCH, remaining_partitions=[]
)
Answer = ControlledShutdownResponse | str
"""A response; or "silence", or "close"."""


class Controller:
    """A listening broker (a WireReceiver) that gives the answers of a list, and then repeats the
    last one.
    """

    def __init__(self, world: "World", broker_id: int, *answers: Answer) -> None:
        self.world = world
        self.id = broker_id
        self.answers = list(answers)

    def on_wire(self, wire: Wire) -> "Controller":
        self.wire = wire
        self.frames = FrameReceiver(1 << 20)
        return self

    def data_received(self, data: memoryview) -> None:
        for frame in self.frames.feed(data):
            header, offset = decode_request_header(frame)
            assert header.api_key == ApiKey.CONTROLLED_SHUTDOWN
            request = ControlledShutdownRequest.decode(frame, header.api_version, offset)
            self.world.asked.append(
                (
                    self.world.time.hi_res_clock_ms() - self.world.began_ms,
                    self.id,
                    header.api_version,
                    request,
                )
            )
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            self.world.after_answer()
            if answer == "close":
                self.wire.close()
            elif isinstance(answer, ControlledShutdownResponse):
                self.wire.send(
                    encode_response(
                        header.api_key, header.api_version, header.correlation_id, answer
                    )
                )

    def all_sent(self) -> None: ...

    def connection_lost(self, reason: str) -> None: ...


class World:
    """The parts of ZooKeeper that a stopping broker reads, a network, and a clock."""

    def __init__(self) -> None:
        self.loop = SimLoop()
        self.time = SimTime(self.loop)
        self.began_ms = self.time.hi_res_clock_ms()
        self.transport = MemoryTransport(MemoryNetwork(self.loop, Random(1)))
        self.tracer = Tracer(Source.of_broker(2), self.time)
        self.events = RingSink()
        self.tracer.add_sink(self.events)
        self.controller_id: int | None = None
        self.registered: dict[int, Broker] = {}
        self.epoch = 44
        self.asked: list[tuple[int, int, int, ControlledShutdownRequest]] = []
        """(ms since the start, the broker asked, API version, request)"""
        self.after_answer: Callable[[], None] = lambda: None
        self.zookeeper_is_down = False
        self.zookeeper_is_silent = False
        self.live = {1, 2, 3}
        """The brokers with a znode in /brokers/ids."""
        self.replicas = (2, 3)
        """The replicas of every partition."""

    def broker(self, broker_id: int, *answers: Answer) -> None:
        """Start a broker that listens and is registered."""
        port = 9092 + broker_id
        listening = self.transport.listen(
            "127.0.0.1", port, Controller(self, broker_id, *answers).on_wire
        )
        self.loop.run_until_complete(self.loop.create_task(listening))
        self.registered[broker_id] = Broker(
            broker_id, (EndPoint("127.0.0.1", port, "INTERNAL", "PLAINTEXT"),)
        )

    async def get_controller_id(self) -> int | None:
        if self.zookeeper_is_silent:
            await self.loop.create_future()
        if self.zookeeper_is_down:
            raise ZkError(ZkErrorCode.CONNECTION_LOSS, "/controller")
        return self.controller_id

    async def get_broker(self, broker_id: int) -> Broker | None:
        return self.registered.get(broker_id)

    async def get_broker_ids(self) -> list[int]:
        if self.zookeeper_is_silent:
            await self.loop.create_future()
        if self.zookeeper_is_down:
            raise ZkError(ZkErrorCode.CONNECTION_LOSS, "/brokers/ids")
        return sorted(self.live)

    async def get_assignment_for_topics(
        self, topics: Collection[str]
    ) -> dict[str, TopicAssignment]:
        replicas = {number: ReplicaAssignment(self.replicas) for number in range(2)}
        return {topic: TopicAssignment(None, replicas) for topic in topics}

    def shut_down(self, protocol: tuple[int, int] = (2, 8), max_retries: int = 3) -> bool:
        return self.end(protocol, max_retries) is Outcome.SUCCEEDED

    def end(self, protocol: tuple[int, int] = (2, 8), max_retries: int = 3) -> Outcome:
        shutdown = ControlledShutdown(
            2,
            lambda: self.epoch,
            self,  # type: ignore[arg-type]
            self.transport,
            self.time,
            self.tracer,
            listener_name="INTERNAL",
            inter_broker_protocol=protocol,
            max_retries=max_retries,
            retry_backoff_ms=5000,
            socket_timeout_ms=30_000,
        )
        return self.loop.run_until_complete(self.loop.create_task(shutdown.run()))

    @property
    def ms(self) -> int:
        return self.time.hi_res_clock_ms() - self.began_ms

    def attempts(self) -> list[tuple[object, ...]]:
        """Return (attempt, controller, error, remaining) of each attempt, from the events."""
        return [tuple(envelope.event) for envelope in self.events.events]


@pytest.fixture
def world() -> World:
    return World()


def test_success_is_error_0_and_nothing_remaining(world: World) -> None:
    world.controller_id = 1
    world.broker(1, DONE)
    assert world.shut_down()
    assert world.attempts() == [(1, 1, "NONE", 0)]
    assert world.ms < 10, "no back-off after success"
    ((_, _, _, request),) = world.asked
    assert request == ControlledShutdownRequest(broker_id=2, broker_epoch=44)


def test_what_remains_is_asked_for_again_after_the_back_off(world: World) -> None:
    world.controller_id = 1
    world.broker(1, LEFT, DONE)
    assert world.shut_down()
    assert world.attempts() == [(1, 1, "NONE", 2), (2, 1, "NONE", 0)]
    assert [ms // 1000 for ms, *_ in world.asked] == [0, 5]


@pytest.mark.parametrize("answer", [LEFT, MOVED], ids=["remaining", "error"])
def test_after_the_last_retry_it_gives_up_without_another_back_off(
    world: World, answer: ControlledShutdownResponse
) -> None:
    world.controller_id = 1
    world.broker(1, answer)
    assert not world.shut_down()
    assert [ms // 1000 for ms, *_ in world.asked] == [0, 5, 10]
    assert world.ms // 1000 == 10


def test_the_controller_moves_in_the_middle(world: World) -> None:
    """The first controller answers that it is no longer the controller. The second attempt finds
    the new controller in ZooKeeper.
    """
    world.controller_id = 1
    world.broker(1, MOVED)
    world.broker(3, DONE)

    def moved() -> None:
        world.controller_id = 3

    world.after_answer = moved
    assert world.shut_down()
    assert world.attempts() == [(1, 1, "STALE_CONTROLLER_EPOCH", 0), (2, 3, "NONE", 0)]
    assert [asked for _, asked, *_ in world.asked] == [1, 3]


def test_the_controller_dies_in_the_middle(world: World) -> None:
    world.controller_id = 1
    world.broker(1, "close")
    world.broker(3, DONE)

    def died() -> None:
        world.controller_id = 3

    world.after_answer = died
    assert world.shut_down()
    assert [attempt[:2] for attempt in world.attempts()] == [(1, 1), (2, 3)]
    assert "ConnectionError" in str(world.attempts()[0][2])


def test_a_controller_that_does_not_answer_is_given_up_after_the_socket_timeout(
    world: World,
) -> None:
    world.controller_id = 1
    world.broker(1, "silence", DONE)
    assert world.shut_down()
    assert "TimeoutError" in str(world.attempts()[0][2])
    assert [ms // 1000 for ms, *_ in world.asked] == [0, 35]


def test_without_a_controller_it_waits_for_one(world: World) -> None:
    assert not world.shut_down()
    assert world.attempts() == [(n, -1, "there is no controller", 0) for n in (1, 2, 3)]
    assert world.ms == 10_000


@pytest.mark.parametrize("listener", ["INTERNAL", None])
def test_a_controller_that_is_not_registered_or_has_no_such_listener(
    world: World, listener: str | None
) -> None:
    world.controller_id = 1
    if listener is None:
        world.registered[1] = Broker(1, (EndPoint("127.0.0.1", 9093, "OTHER", "PLAINTEXT"),))
    assert not world.shut_down()
    assert world.attempts() == [(n, 1, "there is no controller", 0) for n in (1, 2, 3)]


def test_nobody_listens_where_the_controller_should(world: World) -> None:
    world.controller_id = 1
    world.registered[1] = Broker(1, (EndPoint("127.0.0.1", 9093, "INTERNAL", "PLAINTEXT"),))
    assert not world.shut_down()
    assert world.asked == []
    assert world.ms // 1000 == 10


def test_zookeeper_is_gone(world: World) -> None:
    world.zookeeper_is_down = True
    assert not world.shut_down()
    assert all("ZkError" in str(error) for _, _, error, _ in world.attempts())


@pytest.mark.parametrize(
    ("protocol", "version"),
    [
        ((0, 8), 0),
        ((0, 9), 1),
        ((2, 0), 1),
        ((2, 1), 1),
        ((2, 2), 2),
        ((2, 3), 2),
        ((2, 4), 3),
        ((2, 8), 3),
    ],
)
def test_the_version_goes_by_the_protocol_between_brokers(
    world: World, protocol: tuple[int, int], version: int
) -> None:
    world.controller_id = 1
    world.broker(1, DONE)
    assert world.shut_down(protocol)
    ((_, _, asked_in, request),) = world.asked
    assert asked_in == version
    assert request.broker_epoch == (44 if version >= 2 else -1)


def test_the_broker_epoch_of_a_session_that_changed_meanwhile(world: World) -> None:
    world.controller_id = 1
    stale = ControlledShutdownResponse(
        error_code=Errors.STALE_BROKER_EPOCH, remaining_partitions=[]
    )
    world.broker(1, stale, DONE)

    def registered_again() -> None:
        world.epoch = 57

    world.after_answer = registered_again
    assert world.shut_down()
    assert [request.broker_epoch for *_, request in world.asked] == [44, 57]


def test_no_retries_at_all(world: World) -> None:
    world.controller_id = 1
    world.broker(1, DONE)
    assert not world.shut_down(max_retries=0)
    assert world.asked == []


def test_no_live_broker_has_a_replica_of_what_remains(world: World) -> None:
    """Broker 1 is up, but the other replica is on broker 3, which has stopped and may return.

    The stopping broker tries again, but gives no warning.
    """
    world.controller_id = 1
    world.live = {1, 2}
    world.broker(1, LEFT)
    assert world.end() is Outcome.NO_SUCCESSOR
    assert len(world.asked) == 3


def test_a_live_broker_that_could_lead_is_worth_another_try_and_a_warning(world: World) -> None:
    world.controller_id = 1
    world.live = {1, 2, 3}
    world.broker(1, LEFT)
    assert world.end() is Outcome.FAILED
    assert len(world.asked) == 3


@pytest.mark.parametrize("controller", [None, 3])
def test_the_last_broker_of_all_asks_once(world: World, controller: int | None) -> None:
    world.controller_id = controller
    world.live = {2}
    assert world.end() is Outcome.NO_SUCCESSOR
    assert len(world.attempts()) == 1
    assert world.ms < 10, "no back-off"


def test_without_zookeeper_nothing_is_known_of_others(world: World) -> None:
    world.zookeeper_is_down = True
    assert world.end() is Outcome.FAILED
    assert len(world.attempts()) == 3


def test_a_zookeeper_that_does_not_answer_is_waited_for_once(world: World) -> None:
    world.zookeeper_is_silent = True
    assert world.end() is Outcome.NO_ZOOKEEPER
    assert len(world.attempts()) == 1
    assert world.time.hi_res_clock_ms() - world.began_ms == ZOOKEEPER_TIMEOUT_S * 1000


def test_so_it_is_if_it_falls_silent_after_an_attempt(world: World) -> None:
    world.controller_id = 1
    world.broker(1, LEFT)
    world.after_answer = lambda: setattr(world, "zookeeper_is_silent", True)
    assert world.end() is Outcome.NO_ZOOKEEPER
    assert len(world.attempts()) == 1
