"""Which partitions a broker follows when it is about to shut down."""

import asyncio

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.time import MockTime
from kafka_edu.replication.replica_fetcher_manager import ReplicaFetcherManager
from kafka_edu.sim.stepped_cluster import SteppedCluster, T


class NoTransport:
    """Nobody is there."""

    async def connect(self, host: str, port: int) -> None:
        raise ConnectionRefusedError(host, port)


def test_a_broker_that_leaves_follows_nothing_anew_and_goes_on_with_what_it_follows() -> None:
    async def scenario() -> None:
        cluster = SteppedCluster()
        cluster.elect(0, (0, 1))
        broker = cluster.brokers[1]
        failures: list[str] = []
        transport = NoTransport()
        fetchers = ReplicaFetcherManager(
            broker.config,
            MockTime(0),
            transport,  # type: ignore[arg-type]  # all that a fetcher asks of it here
            broker.logs,
            broker.manager.partitions,
            MetadataCache(1),
            broker.quotas.follower,
            lambda name, _: failures.append(name),
        )
        fetchers.add_fetcher_for_partitions([broker.partition], {0: ("nobody", 1)})
        assert list(fetchers._of) == [T]
        fetchers.begin_shutdown()
        assert list(fetchers._of) == [T]
        fetchers.remove_fetcher_for_partitions([T])
        fetchers.add_fetcher_for_partitions([broker.partition], {})
        assert list(fetchers._of) == []
        await fetchers.shutdown()
        assert failures == []

    asyncio.run(scenario())
