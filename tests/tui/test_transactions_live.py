"""The Transactions screen on a real cluster answers its question: who holds the last stable offset
back, and what will end this?

Our own producers commit, are fenced, leave a transaction open until its time-out, and cause a
hanging transaction. The screen's keys pause the leader of a partition, so a marker is missing.
"""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from kafka_edu.cli.client_trace import client_tracer
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.errors import KafkaException
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.tui.live_app import LiveApp, run_live
from tests.tui.transaction_stories import (
    PROPERTIES,
    make_topic,
    producer_of,
    write,
    write_too_late,
)

pytestmark = pytest.mark.tui

TOPIC: Final = "orders"
SIZE: Final = (160, 48)
TIMEOUT_MS: Final = 15_000
"""transaction.timeout.ms of the producer that leaves its transaction open."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with running_cluster("transactions", props=PROPERTIES, home=tmp_path / "home") as cluster:
        yield cluster


def row(text: str, name: str, state: str) -> str:
    """Return the line of a transactional id in this state, or an empty text."""
    found = re.search(rf"^.{{0,4}}{name} +{state} .*$", text, re.MULTILINE)
    return found[0] if found else ""


def held(text: str, partition: int) -> str:
    """Return the line of a partition, or an empty text."""
    found = re.search(rf"^.{{0,4}}{TOPIC}-{partition} +b\d .*$", text, re.MULTILINE)
    return found[0] if found else ""


async def fenced(screen: LiveApp, old: Producer, new: Producer) -> None:
    old.begin_transaction()
    await write(old, TOPIC, (0,), 5)
    who = re.compile(r"b\d +\d+ +\d+ +5  payments, .*producer \d+ epoch 0")
    await screen.see(lambda s: who.search(held(s, 0)) is not None, "who holds orders-0")
    await screen.see(lambda s: "1 partition" in row(s, "payments", "Ongoing"), "the transaction")
    await new.init_transactions()
    with pytest.raises(KafkaException):
        await old.commit_transaction()
    text = await screen.shows("fenced epoch 0 (pay-a) by epoch 2 (pay-b): its EndTxn was refused")
    assert "epoch 2" in row(text, "payments", "Empty")
    await screen.see(lambda s: "nobody" in held(s, 0), "that nobody holds orders-0 any more")


async def select(screen: LiveApp, broker: int) -> None:
    """Let the keys act on a broker."""
    for _ in range(8):
        if f"keys act on broker {broker}" in screen.text():
            return
        await screen.press("right")
    raise AssertionError(f"the keys cannot act on broker {broker}:\n{screen.text()}")


async def without_a_marker(screen: LiveApp, new: Producer, victim: int) -> None:
    new.begin_transaction()
    await write(new, TOPIC, (0, 2), 5)
    await select(screen, victim)
    await screen.press("p")
    await screen.shows(f"broker {victim} is paused")
    committing = asyncio.create_task(new.commit_transaction())
    text = await screen.see(
        lambda s: f"broker {victim} leads orders-2 and is paused" in s, "why a marker is missing"
    )
    assert "will commit, and waits" in text, text
    assert re.search(r"markers .*□.* of 2 written", row(text, "payments", "PrepareCommit")), text
    await screen.see(lambda s: "s old" in held(s, 2), "that the samples of its leader are old")
    await screen.press("r")
    await committing
    await screen.see(
        lambda s: "2 partitions" in row(s, "payments", "CompleteCommit"), "that it is committed"
    )


async def hanging(screen: LiveApp, bootstrap: str, report: Producer) -> None:
    report.begin_transaction()
    await write(report, TOPIC, (0, 1), 5)
    await report.commit_transaction()
    await screen.see(lambda s: bool(row(s, "report", "CompleteCommit")), "that report committed")
    known = screen.app.model.transactions.by_id["report"]
    await write_too_late(bootstrap, "report", TOPIC, 3, (known.producer_id, known.epoch))
    await screen.shows("orders-3 hangs: producer", "No coordinator knows it")
    hangs = re.compile(r"3 +0 +3  ✕ hangs: report, [\d.]+ s")
    await screen.see(lambda s: hangs.search(held(s, 3)) is not None, "that orders-3 hangs")


def test_the_screen_shows_who_holds_readers_back_and_what_ends_it(cluster: Cluster) -> None:
    bootstrap = cluster.bootstrap_servers

    async def look(screen: LiveApp) -> None:
        await screen.press("X")
        await screen.shows("no producer has initialised with a transactional.id")
        async with (
            client_tracer(cluster.folder) as trace,
            producer_of(bootstrap, "pay-a", "payments", trace) as old,
            producer_of(bootstrap, "pay-b", "payments", trace) as new,
            producer_of(bootstrap, "stock-a", "stock", trace, TIMEOUT_MS) as stock,
            producer_of(bootstrap, "report-a", "report", trace) as report,
        ):
            for producer in (old, stock, report):
                await producer.init_transactions()
            await screen.see(lambda s: bool(row(s, "payments", "Empty")), "the ids")
            coordinator = screen.app.model.transactions.by_id["payments"].coordinator
            victim = await make_topic(bootstrap, TOPIC, cluster.broker_ids, coordinator)
            await fenced(screen, old, new)
            stock.begin_transaction()
            await write(stock, TOPIC, (1,), 5)
            await screen.see(
                lambda s: "of 15 s left" in row(s, "stock", "Ongoing"), "the clock of stock"
            )
            await without_a_marker(screen, new, victim)
            await hanging(screen, bootstrap, report)
            text = await screen.see(
                lambda s: "aborted" in row(s, "stock", "CompleteAbort"), "the abort by time-out"
            )
            assert "fenced" in row(text, "stock", "CompleteAbort"), text

    run_live(cluster, look, SIZE)
