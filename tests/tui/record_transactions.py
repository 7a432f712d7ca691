"""Make the recording of the Transactions screen, on a real cluster with our own producers.

    python -m tests.tui.record_transactions tests/tui/recordings/transactions-held.jsonl.gz

The producer `payments` commits, and a second process with the same transactional.id fences it in
the middle of a transaction. `stock` aborts a transaction, and leaves the next one open until the
coordinator ends it. A batch of `report` arrives after the end of its transaction, so a transaction
hangs. Finally `payments` commits while the leader of one of its partitions is paused, so a marker
is missing for a while.
"""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kafka_edu.cli.client_trace import client_tracer
from kafka_edu.common.errors import KafkaException
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.transaction import (
    ProducerFenced,
    TransactionalIdInitialised,
    TransactionStateChanged,
)
from tests.tui import record_groups
from tests.tui.tape import Tape
from tests.tui.transaction_stories import (
    PROPERTIES,
    make_topic,
    producer_of,
    write,
    write_too_late,
)

TOPIC: Final = "orders"
LATE: Final = 3
"""The partition in which a transaction hangs."""
#: Samples that the screen does not show. They would be most of the recording.
LEFT_OUT: Final = record_groups.LEFT_OUT | {
    "ProducerSampled", "LogForecast", "CleanerForecast", "RequestTimesSampled",
    "ClientRequestsSampled", "FetchSessionsSampled",
}  # fmt: skip


def in_state(name: str, *states: str) -> Callable[[Envelope], bool]:
    return lambda e: (
        isinstance(e.event, TransactionStateChanged)
        and e.event.transactional_id == name
        and e.event.after in states
    )


async def transactions(tape: Tape) -> None:
    cluster = tape.cluster
    bootstrap = cluster.bootstrap_servers
    async with (
        client_tracer(cluster.folder) as trace,
        producer_of(bootstrap, "pay-a", "payments", trace) as old,
        producer_of(bootstrap, "pay-b", "payments", trace) as new,
        producer_of(bootstrap, "stock-a", "stock", trace, timeout_ms=20_000) as stock,
        producer_of(bootstrap, "report-a", "report", trace) as report,
    ):
        for producer in (old, stock, report):
            await producer.init_transactions()
        await tape.watch(1)
        by_id = {
            e.event.transactional_id: (e.broker, e.event)
            for e in tape.seen
            if isinstance(e.event, TransactionalIdInitialised)
        }
        victim = await make_topic(bootstrap, TOPIC, cluster.broker_ids, by_id["payments"][0])
        for producer, partitions in ((old, (0, 1)), (report, (0, 1, 2))):
            producer.begin_transaction()
            await write(producer, TOPIC, partitions, 10)
            await tape.watch(1)
            await producer.commit_transaction()
        stock.begin_transaction()
        await write(stock, TOPIC, (1, 2), 5)
        await stock.abort_transaction()
        await tape.watch(1)
        stock.begin_transaction()
        await write(stock, TOPIC, (1,), 5)
        await tape.watch(1)
        _, late = by_id["report"]
        await write_too_late(
            bootstrap, "report", TOPIC, LATE, (late.producer_id, late.producer_epoch)
        )
        old.begin_transaction()
        await write(old, TOPIC, (0,), 7)
        await tape.watch(1.5)
        await new.init_transactions()
        try:
            await old.commit_transaction()
        except KafkaException as refused:
            print("the old producer:", refused)
        await tape.watch(2)
        new.begin_transaction()
        await write(new, TOPIC, (0, 2), 6)
        await tape.watch(1)
        cluster.pause(victim)
        committing = asyncio.create_task(new.commit_transaction())
        await tape.watch(3.5)
        cluster.resume(victim)
        await committing
        print("complete:", await tape.watch(30, in_state("payments", "CompleteCommit")))
        print("timed out:", await tape.watch(40, in_state("stock", "CompleteAbort")))
        await tape.watch(3)
    fenced = [e for e in tape.seen if isinstance(e.event, ProducerFenced)]
    print("fenced:", [e.event for e in fenced])


async def record(cluster: Cluster, path: Path) -> None:
    tape = Tape(cluster, path, LEFT_OUT)
    try:
        await tape.watch(1.5)
        await transactions(tape)
    finally:
        await tape.close()
    print(f"{path}: {path.stat().st_size:,} bytes")


def main() -> None:
    with running_cluster("demo", props=PROPERTIES) as cluster:
        asyncio.run(record(cluster, Path(sys.argv[1])))


if __name__ == "__main__":
    main()
