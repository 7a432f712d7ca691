"""The metadata proxy in virtual time.

Copies are refreshed, targets disappear and return, and a hostile client costs one connection.
"""

import asyncio

import pytest

from kafka_edu.clients.proxy.metadata_proxy import MetadataProxy
from kafka_edu.clients.proxy.proxy_server import ProxyServer
from kafka_edu.clients.proxy.routes import parse_routes
from kafka_edu.clients.proxy.target import Address, Target
from kafka_edu.common.errors import Errors
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_edu.protocol.messages.produce import ProduceRequest
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.sim_loop import SimProcess
from kafka_edu.trace.event import PROXY
from kafka_edu.trace.events.network import ConnectionClosed
from kafka_edu.trace.events.proxy import (
    MetadataCopied,
    MetadataCopyFailed,
    ProxyAnswered,
    ProxyRefused,
    ProxyStopped,
    TargetStateChanged,
)
from kafka_edu.trace.tracer import Tracer
from tests.defaults import NETWORK_DEFAULTS
from tests.unit.clients.proxy.proxy_world import copy_of

PORT = 7000
REFRESH_MS = 1000
TIMEOUT_MS = 300


class Proxied:
    """A cluster, and a proxy as a process of its own in the same world."""

    def __init__(self, targets=(("kafka", (1, 2, 3)),), rules=(), replayed=()):
        self.cluster = SimCluster(5)
        self.cluster.start_all()
        self.process = SimProcess("proxy")
        tracer = Tracer(PROXY, self.cluster.time)
        tracer.add_sink(self.cluster.sink)
        made = [
            Target(name, [Address("127.0.0.1", self.cluster.port(b)) for b in brokers], tracer)
            for name, brokers in targets
        ]
        for name, copy in replayed:
            made.append(Target(name, [], tracer))
            made[-1].play_back(copy)
        routes = parse_routes([("rule", rule) for rule in rules], [target.name for target in made])
        self.server = ProxyServer(
            "127.0.0.1",
            PORT,
            MetadataProxy(made, routes),
            self.cluster.network.transport(),
            self.cluster.time,
            tracer,
            NETWORK_DEFAULTS,
            refresh_ms=REFRESH_MS,
            timeout_ms=TIMEOUT_MS,
        )
        self.run(self.server.startup())
        self.client = SimProcess("client")

    def run(self, coroutine):
        return self.cluster.run_as(self.process, coroutine)

    def facts(self, kind):
        return [envelope.event for envelope in self.cluster.facts(kind)]

    def states(self):
        return [(e.target, e.before, e.after) for e in self.facts(TargetStateChanged)]

    def boot(self, client_id="c", request=None, version=8):
        """Return the proxy's answer to a client."""

        async def ask():
            client = NetworkClient(self.cluster.network.transport(), client_id)
            await client.connect("127.0.0.1", PORT, 1000)
            try:
                return await client.send(request or MetadataRequest(topics=None), version, 1000)
            finally:
                client.close()

        return self.cluster.run_as(self.client, ask())

    def create_topic(self, name):
        client = SimClient(self.cluster)
        assert self.cluster.run_as(client.process, client.create_topic(name, 2, 3)) is Errors.NONE


def topics(response):
    return [topic.name for topic in response.topics]


def test_the_copy_follows_the_cluster_by_one_refresh():
    proxied = Proxied()
    told = proxied.boot()
    assert isinstance(told, MetadataResponse)
    assert ([broker.node_id for broker in told.brokers], topics(told)) == ([1, 2, 3], [])
    proxied.create_topic("new")
    proxied.cluster.advance(REFRESH_MS + 100)
    told = proxied.boot()
    assert topics(told) == ["new"]
    assert [
        (p.partition_index, p.leader_id > 0, p.leader_epoch) for p in told.topics[0].partitions
    ] == [(0, True, 0), (1, True, 0)]
    copied = proxied.facts(MetadataCopied)
    assert {(e.target, e.source, e.version, e.brokers) for e in copied} == {
        ("kafka", "127.0.0.1:9093", 11, (1, 2, 3))
    }
    assert copied[-1].partitions == 2


def test_the_given_address_is_needed_for_the_first_answer_only():
    proxied = Proxied(targets=(("kafka", (1,)),))
    proxied.cluster.kill(1)
    proxied.cluster.advance(
        20_000
    )  # its session expires too, so a living broker's copy has no broker 1
    assert [broker.node_id for broker in proxied.boot().brokers] == [2, 3]
    assert proxied.states() == [("kafka", "Unknown", "Up")]


def test_a_target_that_does_not_answer_is_left_out_and_comes_back():
    proxied = Proxied()
    for broker in (1, 2, 3):
        proxied.cluster.kill(broker)
    proxied.cluster.advance(2 * REFRESH_MS + 100)
    assert proxied.states() == [("kafka", "Unknown", "Up"), ("kafka", "Up", "Down")]
    with pytest.raises(ConnectionError):
        proxied.boot()
    assert [e.reason for e in proxied.facts(ProxyRefused)] == ["no target answers of kafka"]
    for broker in (1, 2, 3):
        proxied.cluster.start(broker)
    proxied.cluster.advance(REFRESH_MS + 100)
    assert proxied.states()[-1] == ("kafka", "Down", "Up")
    assert [broker.node_id for broker in proxied.boot().brokers] == [1, 2, 3]


def test_a_target_that_hangs_is_given_the_time_out_and_no_more():
    proxied = Proxied()
    for broker in (1, 2, 3):
        proxied.cluster.pause(broker)
    before = proxied.cluster.time.milliseconds()
    proxied.cluster.advance(2 * (REFRESH_MS + 3 * TIMEOUT_MS) + 100)
    failed = proxied.cluster.facts(MetadataCopyFailed)
    assert [round((envelope.wall_ms - before) / 100) for envelope in failed] == [
        19,
        38,
    ]  # a refresh and three time-outs, twice
    assert failed[0].event.reason.count("no answer within 300 ms") == 3
    assert proxied.states()[-1] == ("kafka", "Up", "Down")
    for broker in (1, 2, 3):
        proxied.cluster.resume(broker)
    proxied.cluster.advance(REFRESH_MS + 100)
    assert proxied.states()[-1] == ("kafka", "Down", "Up")


def test_the_clients_of_a_cluster_that_died_boot_on_the_other():
    proxied = Proxied(
        rules=("client=pinned to=kafka", "to=kafka,tape"),
        replayed=(("tape", copy_of({}, "played back")),),
    )
    clients = [f"c{i}" for i in range(12)]
    before = {client: proxied.boot(client).cluster_id for client in clients}
    assert len(set(before.values())) == 2
    for broker in (1, 2, 3):
        proxied.cluster.kill(broker)
    proxied.cluster.advance(2 * REFRESH_MS + 100)
    assert {proxied.boot(client).cluster_id for client in clients} == {"played back"}
    assert {e.target for e in proxied.facts(MetadataCopyFailed)} == {"kafka"}, (
        "what is played back is not asked"
    )
    with pytest.raises(ConnectionError):
        proxied.boot("pinned")
    for broker in (1, 2, 3):
        proxied.cluster.start(broker)
    proxied.cluster.advance(REFRESH_MS + 100)
    assert {client: proxied.boot(client).cluster_id for client in clients} == before


def test_a_produce_request_closes_its_connection_and_no_other():
    proxied = Proxied()
    stays = NetworkClient(proxied.cluster.network.transport(), "stays")

    async def connect():
        await stays.connect("127.0.0.1", PORT, 1000)

    proxied.cluster.run_as(proxied.client, connect())
    with pytest.raises(ConnectionError):
        proxied.boot("lost", ProduceRequest(acks=1, timeout_ms=1, topic_data=[]), 7)
    assert [(e.client_id, e.reason) for e in proxied.facts(ProxyRefused)] == [
        ("lost", "PRODUCE is not served: this is a metadata proxy")
    ]
    assert [e.reason for e in proxied.facts(ConnectionClosed) if "metadata proxy" in e.reason] == [
        "PRODUCE is not served: this is a metadata proxy"
    ]
    assert (
        proxied.cluster.run_as(proxied.client, stays.send(ApiVersionsRequest(), 0, 1000)).error_code
        == 0
    )


@pytest.mark.parametrize(
    "sent",
    [
        b"\0\0\0\0",
        b"\x7f\xff\xff\xff",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0\0\0\x08\x12\x34\0\0\0\0\0\0",
        b"\0\0\0\x0e\0\x03\0\x01\0\0\0\x01\xff\xff\0\0\0\x07",
    ],
    ids=[
        "an empty frame",
        "a huge frame",
        "another protocol",
        "an unknown key",
        "a body that ends early",
    ],
)
def test_what_is_no_request_costs_one_connection(sent):
    proxied = Proxied()
    lost = []

    class Receiver:
        def data_received(self, data):
            raise AssertionError(bytes(data))

        def all_sent(self): ...

        def connection_lost(self, reason):
            lost.append(reason)

    async def send():
        wire = await proxied.cluster.network.transport().connect(
            "127.0.0.1", PORT, lambda _: Receiver(), 1000
        )
        wire.send([sent])
        await asyncio.sleep(0.1)

    proxied.cluster.run_as(proxied.client, send())
    assert len(lost) == 1
    assert proxied.boot().brokers


def test_a_client_tries_an_unknown_version_of_api_versions_and_then_a_lower_one():
    """As kafka-python does: version 4 first, then 3, on the same connection."""
    proxied = Proxied()
    received, lost = bytearray(), []

    class Receiver:
        def data_received(self, data):
            received.extend(data)

        def all_sent(self): ...

        def connection_lost(self, reason):
            lost.append(reason)

    request = ApiVersionsRequest(client_software_name="kafka-python", client_software_version="3")
    frame = b"".join(bytes(part) for part in encode_request(request, 3, 7, "c"))

    async def ask():
        wire = await proxied.cluster.network.transport().connect(
            "127.0.0.1", PORT, lambda _: Receiver(), 1000
        )
        for sent in (frame[:6] + b"\0\x04" + frame[8:], frame):
            wire.send([sent])
            await asyncio.sleep(0.1)

    proxied.cluster.run_as(proxied.client, ask())
    assert not lost
    errors = []
    while received:
        size = int.from_bytes(received[:4], "big")
        errors.append(decode_response(18, 3, bytes(received[4 : 4 + size]))[1].error_code)
        del received[: 4 + size]
    assert errors == [Errors.UNSUPPORTED_VERSION, Errors.NONE]


def test_a_silent_connection_is_closed_after_ten_minutes():
    proxied = Proxied()
    lost = []

    class Receiver:
        def data_received(self, data): ...

        def all_sent(self): ...

        def connection_lost(self, reason):
            lost.append(reason)

    async def connect():
        await proxied.cluster.network.transport().connect(
            "127.0.0.1", PORT, lambda _: Receiver(), 1000
        )

    proxied.cluster.run_as(proxied.client, connect())
    proxied.cluster.advance(599_000)
    assert not lost
    proxied.cluster.advance(200_000)
    assert len(lost) == 1


def test_a_part_that_fails_ends_the_proxy():
    proxied = Proxied()

    def broken(*_):
        raise RuntimeError("a bug")

    proxied.server._proxy.answer = broken
    with pytest.raises(TimeoutError):
        proxied.boot()
    assert proxied.server.failed.is_set()
    assert str(proxied.server.failure) == "a bug"


def test_in_the_end_it_says_what_it_did():
    proxied = Proxied()
    proxied.boot("a")
    proxied.boot("b", ApiVersionsRequest(client_software_name="t", client_software_version="1"), 3)
    proxied.run(proxied.server.shutdown("SIGTERM"))
    (stopped,) = proxied.facts(ProxyStopped)
    assert (stopped.reason, stopped.requests, stopped.refused) == ("SIGTERM", ((3, 1), (18, 1)), 0)
    assert (stopped.bytes_in, stopped.bytes_out) == (43, 145)
    assert [
        (e.client_id, e.api_key, e.api_version, e.target, e.error)
        for e in proxied.facts(ProxyAnswered)
    ] == [
        ("a", 3, 8, "kafka", "NONE"),
        ("b", 18, 3, "", "NONE"),
    ]
    with pytest.raises(ConnectionRefusedError):
        proxied.boot()
