"""With edu.max.pipelined.requests above 1, a connection's produces wait at the same time.

Their answers keep the order of the requests.
"""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_edu.cluster.broker import EndPoint
from kafka_edu.common.transport import Part, Wire
from kafka_edu.network.channel import MAX_PIPELINED_BYTES
from kafka_edu.network.request import Request
from kafka_edu.network.request_channel import RequestChannel
from kafka_edu.network.socket_server import SocketServer
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_request_header, encode_request, encode_response
from kafka_edu.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_edu.protocol.produce_peek import is_acknowledged_produce
from kafka_edu.sim.memory_transport import MemoryNetwork
from kafka_edu.sim.sim_loop import SimLoop, SimTime
from tests.defaults import NETWORK_DEFAULTS


def produce(
    correlation_id: int,
    *,
    acks: int = -1,
    version: int = 9,
    transactional_id: str | None = None,
    records: bytes = b"records",
) -> bytes:
    request = ProduceRequest(
        transactional_id=transactional_id if version >= 3 else None,
        acks=acks,
        timeout_ms=30_000,
        topic_data=[
            TopicProduceData(
                name="t", partition_data=[PartitionProduceData(index=0, records=records)]
            )
        ],
    )
    return b"".join(
        bytes(part) for part in encode_request(request, version, correlation_id, "somebody")
    )  # type: ignore[arg-type]


def heartbeat(correlation_id: int) -> bytes:
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    return b"".join(bytes(part) for part in encode_request(request, 2, correlation_id, "somebody"))  # type: ignore[arg-type]


class Bench:
    """A server in a simulation. The test is the handler and answers when it likes."""

    def __init__(self, limit: int) -> None:
        self.loop = SimLoop()
        network = MemoryNetwork(self.loop, random.Random(7))
        self.channel = RequestChannel(SimTime(self.loop), NETWORK_DEFAULTS.queued_max_requests)
        self.server = SocketServer(
            [EndPoint("127.0.0.1", 9092, "PLAINTEXT", "PLAINTEXT")],
            network.transport(),
            SimTime(self.loop),
            self.channel,
            None,
            NETWORK_DEFAULTS._replace(num_network_threads=1, max_pipelined_requests=limit),
            inter_broker_listener=None,
        )
        self.handled: list[Request] = []
        self.answered: list[int] = []
        self.lost: list[str] = []
        self._received = b""
        self.loop.run_until_complete(self._begin(network))

    async def _begin(self, network: MemoryNetwork) -> None:
        await self.server.bind()
        self.server.start_processing()
        self.wire: Wire = await network.transport().connect("127.0.0.1", 9092, lambda _: self, 1000)

    def data_received(self, data: memoryview) -> None:
        self._received += bytes(data)
        while len(self._received) >= 4 + (size := int.from_bytes(self._received[:4], "big")) > 4:
            self.answered.append(int.from_bytes(self._received[4:8], "big"))
            self._received = self._received[4 + size :]

    def all_sent(self) -> None: ...

    def connection_lost(self, reason: str) -> None:
        self.lost.append(reason)

    def send(self, *frames: bytes) -> None:
        self.wire.send(list(frames))
        self.settle()

    def settle(self) -> None:
        """Handle the requests that may start, and leave each one waiting, as in a purgatory."""
        before = -1
        while before != len(self.handled):
            before = len(self.handled)
            self._run(0.01)
            while self.channel.queue_size:
                request = self.loop.run_until_complete(self.channel.receive_request())
                self.handled.append(request)
                if is_acknowledged_produce(request.frame):
                    self.channel.let_next_start(request)

    def _run(self, seconds: float) -> None:
        self.loop.run_until_complete(SimTime(self.loop).sleep(int(seconds * 1000)))

    def ids(self) -> list[int]:
        return [request.header.correlation_id for request in self.handled]

    def answer(self, index: int) -> None:
        request = self.handled[index]
        header = request.header
        response = (
            ProduceResponse(responses=[])
            if header.api_key == ApiKey.PRODUCE
            else HeartbeatResponse()
        )
        self.respond(
            request,
            encode_response(header.api_key, header.api_version, header.correlation_id, response),
        )

    def respond(self, request: Request, parts: list[Part] | None) -> None:
        async def send() -> None:
            self.channel.send_response(request, parts)

        self.loop.run_until_complete(send())
        self.settle()


def test_one_at_a_time_is_kafkas_way_and_the_default() -> None:
    bench = Bench(1)
    bench.send(produce(1), produce(2), produce(3))
    assert bench.ids() == [1]
    bench.answer(0)
    assert (bench.ids(), bench.answered) == ([1, 2], [1])


def test_produces_wait_side_by_side_up_to_the_limit() -> None:
    bench = Bench(3)
    bench.send(*(produce(number) for number in range(1, 6)))
    assert bench.ids() == [1, 2, 3]
    bench.answer(0)
    assert (bench.ids(), bench.answered) == ([1, 2, 3, 4], [1])


def test_answers_leave_in_the_order_of_the_requests() -> None:
    bench = Bench(4)
    bench.send(*(produce(number) for number in range(1, 5)))
    bench.answer(2)
    bench.answer(1)
    assert bench.answered == []
    bench.answer(0)
    assert bench.answered == [1, 2, 3]
    bench.answer(3)
    assert bench.answered == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "other", [heartbeat(2), produce(2, acks=0)], ids=["another kind", "acks=0"]
)
def test_nothing_else_starts_beside_a_produce(other: bytes) -> None:
    bench = Bench(10)
    bench.send(produce(1), other, produce(3))
    assert bench.ids() == [1]
    bench.answer(0)
    assert bench.ids() == [1, 2]
    if other == heartbeat(2):
        bench.answer(1)
    else:
        bench.respond(bench.handled[1], None)
    assert bench.ids() == [1, 2, 3]


def test_a_produce_does_not_start_beside_another_kind() -> None:
    bench = Bench(10)
    bench.send(heartbeat(1), produce(2))
    assert bench.ids() == [1]


def test_the_bytes_in_progress_are_bounded() -> None:
    bench = Bench(100)
    third = MAX_PIPELINED_BYTES * 2 // 5
    bench.send(*(produce(number, records=bytes(third)) for number in range(1, 5)))
    assert bench.ids() == [1, 2]
    bench.answer(0)
    assert bench.ids() == [1, 2, 3]


def test_a_request_larger_than_the_bound_starts_alone() -> None:
    bench = Bench(100)
    bench.send(produce(1, records=bytes(MAX_PIPELINED_BYTES + 1)), produce(2))
    assert bench.ids() == [1]
    bench.answer(0)
    assert bench.answered == [1]
    assert bench.ids() == [1, 2]


def test_a_connection_that_goes_takes_its_held_answers_with_it() -> None:
    bench = Bench(4)
    bench.send(produce(1), produce(2))
    bench.answer(1)
    bench.handled[0].channel.close("the test closes it")
    bench.answer(0)
    assert bench.answered == []
    assert bench.lost != []


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(1, 6), st.lists(st.sampled_from("ppphz"), min_size=1, max_size=30))
def test_whatever_comes_each_is_answered_once_and_in_order(
    data: st.DataObject, limit: int, kinds: list[str]
) -> None:
    bench = Bench(limit)
    make: dict[str, Callable[[int], bytes]] = {
        "p": produce,
        "h": heartbeat,
        "z": lambda number: produce(number, acks=0),
    }
    frames = [make[kind](number) for number, kind in enumerate(kinds)]
    done: set[int] = set()
    while frames or len(done) < len(kinds):
        open_ones = [index for index in range(len(bench.handled)) if index not in done]
        assert len(open_ones) <= limit
        if len(open_ones) > 1:
            assert all(kinds[bench.ids()[index]] == "p" for index in open_ones)
        if frames and (not open_ones or data.draw(st.booleans())):
            bench.send(frames.pop(0))
            continue
        index = data.draw(st.sampled_from(open_ones))
        done.add(index)
        if kinds[bench.ids()[index]] == "z":
            bench.respond(bench.handled[index], None)
        else:
            bench.answer(index)
    assert bench.ids() == list(range(len(kinds)))
    assert bench.answered == [number for number, kind in enumerate(kinds) if kind != "z"]


@pytest.mark.parametrize("version", range(10))
@pytest.mark.parametrize("transactional_id", [None, "", "an id"])
def test_acks_are_found_in_every_version(version: int, transactional_id: str | None) -> None:
    for acks in (-1, 1):
        assert is_acknowledged_produce(
            produce(7, acks=acks, version=version, transactional_id=transactional_id)[4:]
        )
    for acks in (0, 2, -2):
        assert not is_acknowledged_produce(
            produce(7, acks=acks, version=version, transactional_id=transactional_id)[4:]
        )


def test_what_is_no_produce_or_is_cut_off_is_none() -> None:
    assert not is_acknowledged_produce(heartbeat(1)[4:])
    frame = produce(7, transactional_id="an id")[4:]
    body = decode_request_header(frame)[1]
    for end in range(body + 8):
        assert not is_acknowledged_produce(frame[:end])
