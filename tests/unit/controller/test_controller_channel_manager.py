"""The controller's channels: order, retries and the end of a broker, on the simulated network."""

from collections.abc import Sequence
from random import Random

from kafka_edu.cluster.broker import Broker, EndPoint
from kafka_edu.common.transport import Wire
from kafka_edu.controller.controller_channel_manager import ControllerChannelManager
from kafka_edu.protocol.framing import FrameReceiver
from kafka_edu.protocol.headers import decode_request_header, encode_response
from kafka_edu.protocol.messages.update_metadata import (
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.sim.memory_transport import MemoryNetwork, MemoryTransport
from kafka_edu.sim.sim_loop import SimLoop, SimTime
from kafka_edu.trace.event import Source
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer


class Answering:
    """A broker that answers UpdateMetadata, or is silent; a WireReceiver."""

    def __init__(self, wire: Wire, epochs: list[int], silent: bool) -> None:
        self.wire = wire
        self.epochs = epochs
        self.silent = silent
        self.frames = FrameReceiver(1 << 20)

    def data_received(self, data: memoryview) -> None:
        for frame in self.frames.feed(data):
            header, offset = decode_request_header(frame)
            self.epochs.append(
                UpdateMetadataRequest.decode(frame, header.api_version, offset).controller_epoch
            )
            if not self.silent:
                response = UpdateMetadataResponse(error_code=0)
                self.wire.send(
                    encode_response(
                        header.api_key, header.api_version, header.correlation_id, response
                    )
                )

    def all_sent(self) -> None: ...

    def connection_lost(self, reason: str) -> None: ...


class Wires:
    def __init__(self, socket_timeout_ms: float = 1000) -> None:
        self.loop = SimLoop()
        self.time = SimTime(self.loop)
        self.transport = MemoryTransport(MemoryNetwork(self.loop, Random(1)))
        self.tracer = Tracer(Source.of_broker(0), self.time)
        self.events = RingSink()
        self.tracer.add_sink(self.events)
        self.received: list[int] = []
        self.answers: list[tuple[int, Message]] = []

        async def make() -> ControllerChannelManager:
            return ControllerChannelManager(
                0,
                "PLAINTEXT",
                self.transport,
                self.time,
                lambda b, _, r: self.answers.append((b, r)),
                self.tracer,
                lambda: 7,
                socket_timeout_ms,
            )

        self.channels = self.loop.run_until_complete(self.loop.create_task(make()))

    def listen(self, silent: bool = False, port: int = 9093) -> None:
        listening = self.transport.listen(
            "127.0.0.1", port, lambda wire: Answering(wire, self.received, silent)
        )
        self.loop.run_until_complete(self.loop.create_task(listening))

    def call(self, *calls: object) -> None:
        async def do() -> None:
            for call in calls:
                assert callable(call)
                call()

        self.loop.run_until_complete(self.loop.create_task(do()))

    def add(self) -> None:
        self.call(
            lambda: self.channels.add_broker(
                Broker(1, (EndPoint("127.0.0.1", 9093, "PLAINTEXT", "PLAINTEXT"),))
            )
        )

    def send(self, *epochs: int) -> None:
        for epoch in epochs:
            self.call(
                lambda e=epoch: self.channels.send_request(
                    1, UpdateMetadataRequest(controller_id=0, controller_epoch=e), 7, 0
                )
            )

    def names(self) -> Sequence[str]:
        return [envelope.name for envelope in self.events.events]


def test_requests_arrive_in_order_each_after_the_answer_to_the_last() -> None:
    wires = Wires()
    wires.listen()
    wires.add()
    wires.send(1, 2, 3)
    wires.loop.advance(100)
    assert wires.received == [1, 2, 3]
    assert wires.answers == [(1, UpdateMetadataResponse(error_code=0))] * 3
    assert wires.names() == ["ControllerRequestSent", "ControllerResponseReceived"] * 3
    assert [envelope.cause for envelope in wires.events.events][::2] == [7, 7, 7]
    assert [
        envelope.event[3]
        for envelope in wires.events.events
        if envelope.name == "ControllerRequestSent"
    ] == [0, 1, 2]


def test_a_broker_that_is_not_there_yet_gets_everything_later() -> None:
    wires = Wires()
    wires.add()
    wires.send(1, 2)
    wires.loop.advance(1000)
    assert wires.channels.queued == 2
    assert set(wires.names()) == {"ControllerRequestFailed"}
    wires.listen()
    wires.loop.advance(1000)
    assert wires.received == [1, 2]
    assert wires.channels.queued == 0


def test_a_silent_broker_is_asked_again_until_it_is_removed() -> None:
    wires = Wires(socket_timeout_ms=200)
    wires.listen(silent=True)
    wires.add()
    wires.send(1)
    wires.loop.advance(1000)
    asked = len(wires.received)
    assert asked >= 3
    wires.call(lambda: wires.channels.remove_broker(1))
    wires.send(2)
    wires.loop.advance(5000)
    assert len(wires.received) == asked
    wires.loop.run_until_complete(wires.loop.create_task(wires.channels.shutdown()))
    assert wires.loop.errors == []


def test_a_broker_that_listens_elsewhere_gets_there_what_it_has_not_answered() -> None:
    wires = Wires(socket_timeout_ms=30_000)
    wires.listen(silent=True)
    wires.listen(port=9999)
    wires.add()
    wires.send(1, 2)
    wires.loop.advance(100)
    assert (wires.received, wires.answers) == ([1], [])
    wires.call(
        lambda: wires.channels.update_broker(
            Broker(1, (EndPoint("127.0.0.1", 9999, "PLAINTEXT", "PLAINTEXT"),))
        )
    )
    wires.loop.advance(1000)
    assert wires.received == [1, 1, 2]
    assert len(wires.answers) == 2
    assert wires.channels.queued == 0
    wires.call(
        lambda: wires.channels.update_broker(
            Broker(1, (EndPoint("127.0.0.1", 9999, "OTHER", "PLAINTEXT"),))
        )
    )
    wires.send(3)
    wires.loop.advance(1000)
    assert wires.received == [1, 1, 2], "without our listener it cannot be told anything"
    wires.loop.run_until_complete(wires.loop.create_task(wires.channels.shutdown()))
    assert wires.loop.errors == []
