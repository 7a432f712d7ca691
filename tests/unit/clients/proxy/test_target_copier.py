"""The requests that the proxy sends to a target, for targets of different versions.

In these tests, the target is a second proxy, which can answer in any version.
"""

import random

import pytest

from kafka_edu.clients.proxy.health import TargetState
from kafka_edu.clients.proxy.metadata_proxy import MetadataProxy
from kafka_edu.clients.proxy.proxy_server import ProxyServer
from kafka_edu.clients.proxy.routes import parse_routes
from kafka_edu.clients.proxy.target import Address, Target
from kafka_edu.clients.proxy.target_copier import TargetCopier
from kafka_edu.cluster.metadata_response import NOT_ASKED
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.sim.memory_transport import MemoryNetwork
from kafka_edu.sim.sim_loop import SimLoop, SimTime
from kafka_edu.trace.event import PROXY
from kafka_edu.trace.events.proxy import ProxyAnswered
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer
from tests.defaults import NETWORK_DEFAULTS
from tests.unit.clients.proxy.proxy_world import OPERATIONS, copy_of, partition

PORT = 7000


class World:
    """A target that serves the contents of `copy`, up to the copy's version."""

    def __init__(self, copy):
        self.loop = SimLoop()
        time = SimTime(self.loop)
        network = MemoryNetwork(self.loop, random.Random(3))
        tracer = Tracer(PROXY, time)
        self.ring = RingSink()
        tracer.add_sink(self.ring)
        played_back = Target("played", [], None)
        played_back.play_back(copy)
        core = MetadataProxy([played_back], parse_routes([], ["played"]))
        server = ProxyServer(
            "127.0.0.1", PORT, core, network.transport(), time, tracer, NETWORK_DEFAULTS
        )
        self.loop.run_until_complete(server.startup())
        self.target = Target("t", [Address("127.0.0.1", PORT)], None)
        self.copier = TargetCopier(self.target, network.transport(), time, 300)

    def copy(self):
        self.loop.run_until_complete(self.copier.copy())

    def asked(self):
        """Return (key, version) of each answered request."""
        return [
            (e.event.api_key, e.event.api_version)
            for e in self.ring.events
            if isinstance(e.event, ProxyAnswered)
        ]


@pytest.mark.parametrize("version", range(1, 12))
def test_a_target_is_asked_in_the_newest_version_that_says_all(version):
    world = World(copy_of({"web": [partition(0, 1, [1, 2])], "log": []}, version=version))
    world.copy()
    copy = world.target.copy
    assert copy.version == version
    assert copy.source == f"127.0.0.1:{PORT}"
    assert copy.apis == {ApiKey.METADATA: (0, version), ApiKey.API_VERSIONS: (0, 3)}
    assert [(topic.name, len(topic.partitions)) for topic in copy.response.topics] == [
        ("web", 1),
        ("log", 0),
    ]
    told = {
        copy.response.cluster_authorized_operations,
        *(topic.topic_authorized_operations for topic in copy.response.topics),
    }
    assert told == {OPERATIONS if version >= 8 else NOT_ASKED}
    assert world.asked() == [(ApiKey.API_VERSIONS, 0), (ApiKey.METADATA, min(version, 10))]


def test_the_connection_stays():
    world = World(copy_of({}))
    world.copy()
    world.copy()
    assert [key for key, _ in world.asked()] == [
        ApiKey.API_VERSIONS,
        ApiKey.METADATA,
        ApiKey.METADATA,
    ]


def test_an_answer_without_brokers_is_none():
    copy = copy_of({})
    copy.brokers.clear()
    world = World(copy)
    world.copy()
    assert (world.target.state, world.target.last_error) == (
        TargetState.DOWN,
        f"127.0.0.1:{PORT}: it names no brokers",
    )
