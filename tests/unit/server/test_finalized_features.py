"""The epoch of the finalized features in ApiVersions while /feature changes (KIP-584)."""

from collections.abc import Iterator

import pytest

from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_edu.sim.memory_zk_client import MemoryZkClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.sim_loop import SimProcess

ENABLED = b'{"features": {}, "version": 1, "status": 1}'
DISABLED = b'{"features": {}, "version": 1, "status": 0}'
SESSION_TIMEOUT_MS = 18_000


class World:
    """One broker in virtual time, and a user at the ZooKeeper shell."""

    def __init__(self, properties: dict[str, str] | None = None) -> None:
        self.cluster = SimCluster(seed=3, broker_ids=(1,), properties=properties or {})
        self.cluster.start_all()
        self.process = SimProcess("asker")
        self.zk = MemoryZkClient(self.cluster.zookeeper, 30_000, "shell")
        self.run(self.zk.start(lambda _: None, lambda _: None, 5000))

    def run(self, work):
        return self.cluster.run_as(self.process, work)

    async def _ask(self) -> ApiVersionsResponse:
        client = NetworkClient(self.cluster.network.transport(), "asker")
        await client.connect("127.0.0.1", self.cluster.port(1), 1000)
        request = ApiVersionsRequest(client_software_name="a", client_software_version="1")
        answer = await client.ask(request, 3, ApiVersionsResponse, 5000)
        client.close()
        return answer

    def epoch(self) -> int:
        return self.run(self._ask()).finalized_features_epoch

    def told(self, epoch: int) -> bool:
        """Return whether the broker reports this epoch within a second."""
        return any(self.epoch() == epoch or self.cluster.advance(100) for _ in range(10))


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.cluster.close()


def test_the_epoch_is_the_version_of_the_znode(world):
    assert world.epoch() == 0
    world.run(world.zk.set("/feature", ENABLED))
    assert world.told(1)
    world.run(world.zk.set("/feature", ENABLED))
    assert world.told(2)


def test_without_the_znode_or_while_it_is_disabled_there_is_no_epoch(world):
    world.run(world.zk.set("/feature", DISABLED))
    assert world.told(-1)
    world.run(world.zk.delete("/feature"))
    world.cluster.advance(1000)
    assert world.epoch() == -1
    world.run(world.zk.create("/feature", ENABLED))
    assert world.told(0)
    world.run(world.zk.set("/feature", b"no JSON"))
    assert world.told(-1)


def test_a_change_during_a_lost_session_is_seen_afterwards(world):
    client = world.cluster.brokers[1].zk_client
    client.pause()
    world.run(world.zk.set("/feature", ENABLED))
    world.cluster.advance(2 * SESSION_TIMEOUT_MS)
    client.resume()
    world.cluster.advance(SESSION_TIMEOUT_MS)
    assert world.told(1)


def test_a_broker_of_an_older_protocol_has_no_features():
    world = World({"inter.broker.protocol.version": "2.6"})
    assert world.epoch() == -1
    world.cluster.close()
