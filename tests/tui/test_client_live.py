"""The Client screen on a real cluster answers its question: what does the client hold, and why has
it not been sent?

A load of our own clients runs. A consumer stops calling poll(). A leader is paused, then killed,
and starts again. Of a foreign producer, the screen shows what the brokers know.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from kafka_edu.cli.client_trace import client_tracer
from kafka_edu.clients.admin.new_topic import make_assigned_topic
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.load.load import Load, LoadSpec
from kafka_edu.clients.load.own_clients import own_clients
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.tracer import Tracer
from tests.tui.live_app import LiveApp, run_live
from tests.tui.stories import AcksAll, controller_of

pytestmark = pytest.mark.tui

TOPIC: Final = "web"
SIZE: Final = (170, 50)
COUNT_EVERY_S: Final = 0.05
PRODUCER: Final = "load-producer-1"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    props = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1"}
    with running_cluster("clients", props=props, home=tmp_path / "home") as cluster:
        yield cluster


@asynccontextmanager
async def running_load(cluster: Cluster, trace: Tracer) -> AsyncIterator[Load]:
    """Run a load of our own clients, and count its records as `kafka-edu load` does."""
    spec = LoadSpec(TOPIC, rate=100)
    load = Load(spec, own_clients(spec, cluster.bootstrap_servers, trace.time, trace), trace)
    load.start()

    async def count() -> None:
        while True:
            load.tick()
            await asyncio.sleep(COUNT_EVERY_S)

    counting = asyncio.create_task(count())
    try:
        yield load
    finally:
        counting.cancel()


def row(text: str, client: str) -> str:
    """Return the line of a client in the list, or an empty text."""
    kinds = "producer|consumer|foreign|untraced"
    found = re.search(rf"^.{{0,4}}{client} +({kinds}).*$", text, re.MULTILINE)
    return found[0] if found else ""


async def choose(screen: LiveApp, client: str) -> None:
    """Move the cursor to a client."""
    for _ in range(8):
        if f"▶ {client}" in screen.text():
            return
        await screen.press("down")
    raise AssertionError(f"{client} cannot be chosen:\n{screen.text()}")


async def slow_consumer(screen: LiveApp, cluster: Cluster, trace: Tracer) -> None:
    settings = {
        "bootstrap.servers": cluster.bootstrap_servers,
        "client.id": "slow",
        "group.id": "slow",
        "max.poll.interval.ms": 6_000,
        "auto.offset.reset": "earliest",
    }
    async with Consumer(settings, trace=trace) as consumer:
        consumer.subscribe([TOPIC])
        while not await consumer.poll(1_000):
            pass
        await screen.see(lambda s: "slow Stable" in row(s, "slow"), "the consumer in its group")
        await choose(screen, "slow")
        text = await screen.see(
            lambda s: re.search(r"poll\(\) .* of 6\.0 s left", s) is not None, "the poll clock"
        )
        assert re.search(r"heartbeat .* of 10 s left", text), text
        await screen.shows("consumer slow left its group: max.poll.interval.ms was over")
        assert "slow Unjoined" in row(screen.text(), "slow")
        while not await consumer.poll(1_000):
            pass
        await screen.see(lambda s: "slow Stable" in row(s, "slow"), "the consumer back again")
    await screen.see(lambda s: not row(s, "slow"), "that it is closed")


async def killed_leader(screen: LiveApp, cluster: Cluster, victim: int) -> None:
    await choose(screen, PRODUCER)
    cluster.pause(victim)
    # a second old: then it was sent after the pause, and is not drawn from before it
    waits = re.compile(rf"broker {victim} ■[■□]* \d+ of \d+, oldest [\d.]+ s\b")
    sent = re.compile(rf"\bweb-1 +b{victim} .*■")
    await screen.see(
        lambda s: waits.search(s) is not None and sent.search(s) is not None,
        "a produce without an answer",
    )
    cluster.kill(victim)
    text = await screen.see(
        lambda s: re.search(r"retried [1-9]", row(s, PRODUCER)) is not None, "a retry"
    )
    text = await screen.see(
        lambda s: f"producer {PRODUCER} holds" in s and "no leader is known" in s,
        "batches that wait for a leader",
    )
    assert re.search(r"sent \d times? already", text), text
    assert f"broker {victim} DISCONNECTED" in text
    assert re.search(r"oldest batch .*, given up in ", text), text
    cluster.start(victim)
    await screen.see(lambda s: f"producer {PRODUCER} holds" not in s, "that all have gone")
    assert "failed 0" in row(screen.text(), PRODUCER)


def test_the_screen_shows_what_each_client_holds_and_waits_for(cluster: Cluster) -> None:
    bootstrap = cluster.bootstrap_servers
    victim = next(each for each in (1, 2, 0) if each != controller_of(bootstrap))
    others = [each for each in (0, 1, 2) if each != victim]
    # one replica each, so no other broker can lead the victim's partition
    make_assigned_topic(bootstrap, TOPIC, {0: [others[0]], 1: [victim], 2: [others[1]]})

    async def look(screen: LiveApp) -> None:
        await screen.press("C")
        await screen.shows("no client reports itself")
        async with (
            client_tracer(cluster.folder) as trace,
            running_load(cluster, trace) as load,
        ):
            await screen.see(
                lambda s: re.search(r"acked [1-9]", row(s, PRODUCER)) is not None, "the producer"
            )
            await screen.see(
                lambda s: "load Stable" in row(s, "load-consumer-1"), "the consumer in its group"
            )
            with AcksAll(bootstrap, TOPIC, 1):
                await screen.see(
                    lambda s: re.search(r"produces [\d.]+/s", row(s, "web-log-0")) is not None,
                    "the foreign producer",
                )
            await slow_consumer(screen, cluster, trace)
            await killed_leader(screen, cluster, victim)
            state = await load.finish()
            assert (state.lost, state.refused, state.waiting) == (0, 0, 0)
            assert state.acked == state.sent > 0
            assert load.unread == 0
            await screen.see(lambda s: not row(s, PRODUCER), "that the load has ended")

    run_live(cluster, look, SIZE)
