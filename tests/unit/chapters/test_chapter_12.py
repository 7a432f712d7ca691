"""Chapter 12's pictures agree with the chapter's page. The producer's own classes compute them. The
chapter's jobs cause the faults that the page describes.
"""

import asyncio

import pytest

from chapters.ch12_producer.pictures import (
    BATCH_SIZE,
    BUFFER,
    DRAWINGS,
    LEADERS,
    deque_moments,
    figures,
    intercepted,
    ready_states,
    records_that_fit,
    regrouped,
    reordered,
    spreads,
)
from chapters.demo_parts.faulty_network import FaultyNetwork
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.transport import Wire
from kafka_edu.protocol.api_keys import ApiKey

SAID = {
    "regroup": {"queues": "4", "batches": "5", "first_requests": "2", "all_requests": "3"},
    "ready": {"young_ms": "60", "refused_ms": "100"},
    "memory": {"fit_one": "592", "fit_eight": "4"},
    "deque": {"most_in_flight": "3"},
    "partitioners": {"turn_batches": "9", "sticky_batches": "3", "keyed_batches": "9"},
    "grown": {"moved": "721"},
    "interceptors": {"calls": "5"},
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_picture_binds_what_the_page_says(name: str) -> None:
    assert DRAWINGS[name]().names == SAID[name]


def test_each_request_has_one_batch_of_each_partition_that_its_broker_leads() -> None:
    found = regrouped()
    assert sorted(each.broker for each in found.first) == [0, 1]
    for each in found.first:
        assert len(each.batches()) == 2
        for topic, partition in each.batches():
            assert LEADERS[topic][partition] == each.broker
    assert found.queues["orders", 0] == [2, 2]
    assert found.left == {("orders", 0): [2]}


def test_all_but_the_young_and_the_refused_batch_are_sent_now() -> None:
    assert [one.due_ms for one in ready_states()] == [60, 0, 0, 0, 0, 100]


def test_memory_is_counted_in_batches() -> None:
    assert records_that_fit(2) == records_that_fit(4) == records_that_fit(1)
    assert records_that_fit(8) == BUFFER // BATCH_SIZE


def test_the_oldest_request_leaves_the_deque_first() -> None:
    assert [one.in_flight for one in deque_moments()] == [
        ("r1",),
        ("r1", "r2"),
        ("r1", "r2"),
        ("r1", "r2", "r3"),
        ("r2", "r3"),
        ("r3",),
        (),
    ]
    assert [one.may_send for one in deque_moments()] == [
        *(True, True, True),
        *(False, True, True, True),
    ]


def test_equal_keys_stay_together() -> None:
    *_, keyed = spreads()
    assert keyed.chosen[:4] == keyed.chosen[4:8] == keyed.chosen[8:]


def test_both_interceptors_hear_of_both_records_and_the_callback_comes_last() -> None:
    calls = intercepted()
    assert calls[:5] == [
        "stamp.on_send(yes)",
        "count.on_send(yes)",
        "stamp.on_acknowledgement(ok)",
        "count.on_acknowledgement(ok)",
        "callback(ok)",
    ]
    assert calls[5:] == [
        call.replace("yes", "too").replace("ok", "MESSAGE_TOO_LARGE") for call in calls[:5]
    ]


@pytest.mark.parametrize(
    ("idempotent", "in_flight", "log"),
    [
        (False, 5, "23451"),
        (False, 2, "21345"),
        (False, 1, "12345"),
        (True, 5, "12345"),
    ],
)
def test_only_a_producer_without_numbers_and_with_requests_in_flight_loses_the_order(
    idempotent: bool, in_flight: int, log: str
) -> None:
    assert "".join(reordered(idempotent, in_flight).log) == log


def test_figures_are_not_empty() -> None:
    assert all(len(figure.source) > 300 for figure in figures().values())


class Side:
    """One side of a connection. It keeps the bytes that it gets, and sends `answer` if it is the
    broker's side.
    """

    def __init__(self, wire: Wire, answer: bytes = b"") -> None:
        self._wire = wire
        self._answer = answer
        self.got = b""
        self.changed = asyncio.Event()
        self.lost = False

    def data_received(self, data: memoryview) -> None:
        self.got += bytes(data)
        self.changed.set()
        if self._answer:
            self._wire.send([self._answer])

    def all_sent(self) -> None: ...

    def connection_lost(self, reason: str) -> None:
        self.lost = True
        self.changed.set()


def sent_through(network: FaultyNetwork, *frames: bytes) -> list[tuple[bytes, Side]]:
    """Send each frame on a separate connection. For each, return the bytes that the broker got, and
    the client's side.
    """

    async def one(frame: bytes) -> tuple[bytes, Side]:
        brokers: list[Side] = []
        clients: list[Side] = []

        def accepted(wire: Wire) -> Side:
            brokers.append(Side(wire, b"answer"))
            return brokers[0]

        def opened(wire: Wire) -> Side:
            clients.append(Side(wire))
            return clients[0]

        listener = await network.listen("127.0.0.1", 0, accepted)
        wire = await network.connect("127.0.0.1", listener.port, opened, 10_000)
        wire.send([frame])
        await clients[0].changed.wait()
        wire.close()
        listener.close()
        return brokers[0].got, clients[0]

    async def all_of_them() -> list[tuple[bytes, Side]]:
        return [await one(frame) for frame in frames]

    return asyncio.run(all_of_them())


def request(key: int, value: bytes) -> bytes:
    """Return the bytes of a request that has only a length, an API key, a version and `value`."""
    body = key.to_bytes(2) + b"\0\x09" + value
    return len(body).to_bytes(4) + body


def test_the_network_changes_one_bit_of_one_request_only() -> None:
    frame = request(ApiKey.PRODUCE, b"record 1")
    network = FaultyNetwork(SocketTransport(), damage=b"record 1")
    (first, _), (second, _) = sent_through(network, frame, frame)
    assert len(first) == len(frame)
    assert sum((a ^ b).bit_count() for a, b in zip(first, frame, strict=True)) == 1
    assert second == frame


def test_a_lost_response_was_sent_by_the_broker_and_ends_the_connection() -> None:
    frame = request(ApiKey.PRODUCE, b"payment")
    network = FaultyNetwork(SocketTransport(), lose=b"payment")
    (arrived, without), (_, answered) = sent_through(network, frame, frame)
    assert arrived == frame
    assert (without.got, without.lost) == (b"", True)
    assert answered.got == b"answer"


def test_only_produce_requests_are_counted() -> None:
    network = FaultyNetwork(SocketTransport())
    produce, metadata = request(ApiKey.PRODUCE, b"x" * 50), request(ApiKey.METADATA, b"topic")
    sent_through(network, produce, metadata, produce)
    assert (network.requests, network.bytes) == (2, 2 * len(produce))
