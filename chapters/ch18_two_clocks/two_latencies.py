"""Send small and large records, on a real cluster and on a simulated one, and measure.

The network of the simulator delivers every piece of data after the same few tenths of a
millisecond. No processor and no disk does any work in its time.
"""

import statistics
from collections.abc import Callable
from typing import Final

from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.errors import Errors
from kafka_edu.common.time import Time
from kafka_edu.common.transport import Transport
from kafka_edu.sim.no_log import no_log
from kafka_edu.sim.seeded_random import SeededRandom
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import FIRST_PORT, SimCluster, coroutines_of_dead_processes
from kafka_edu.sim.sim_loop import SimProcess
from kafka_edu.trace.events.client import ProducerMeasured
from kafka_edu.trace.tracer import Tracer

from ..demo_parts.faulty_network import FaultyNetwork

TOPIC: Final = "sizes"
SMALL: Final = 100
LARGE: Final = 900_000
RECORDS: Final = 10
SEED: Final = 18


async def measure(
    name: str,
    size: int,
    servers: str,
    transport: Transport,
    clock: Time,
    trace: Tracer | None = None,
) -> ProducerMeasured:
    """Send RECORDS records of this size, one after the other, and measure each answer."""
    network = FaultyNetwork(transport)
    settings = {"bootstrap.servers": servers, "client.id": name, "acks": "all"}
    took: list[float] = []
    async with Producer(settings, transport=network, time=clock, trace=trace) as producer:
        await (await producer.send(TOPIC, b"first", partition=0))
        network.requests = network.bytes = 0
        for _ in range(RECORDS):
            sent = clock.nanoseconds()
            await (await producer.send(TOPIC, bytes(size), partition=0))
            took.append((clock.nanoseconds() - sent) / 1e6)
    return ProducerMeasured(
        client=name,
        linger_ms=0,
        records=len(took),
        requests=network.requests,
        bytes=network.bytes,
        median_ms=round(statistics.median(took)),
    )


def measure_in_virtual_time(emit: Callable[[ProducerMeasured], None]) -> None:
    """Measure small and large records on a simulated cluster."""
    with no_log(), coroutines_of_dead_processes():
        cluster = SimCluster(SEED, make_random=SeededRandom)
        cluster.start_all()
        client = SimClient(cluster)
        made = cluster.run_as(client.process, client.create_topic(TOPIC, 1, 3))
        assert made is Errors.NONE, made
        servers = f"127.0.0.1:{FIRST_PORT + min(cluster.brokers)}"
        for name, size in (("virtual-small", SMALL), ("virtual-large", LARGE)):
            measuring = measure(name, size, servers, cluster.network.transport(), cluster.time)
            emit(cluster.run_as(SimProcess(name), measuring))
        cluster.close()
