"""The command `story`, about records that our own clients sent and read: from `send()` to the
committed offset.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kafka_edu.cli.story_command import story
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.instruments.client_steps import ProducerSteps, delivered_text, deliveries
from kafka_edu.sim.sim_cluster import FIRST_PORT
from kafka_edu.sim.sim_loop import SimProcess
from kafka_edu.trace.event import CLIENT, Envelope, Event, Level, Source
from kafka_edu.trace.events.consumer import PositionAdvanced, RecordsFetched
from kafka_edu.trace.events.network import RequestReceived
from kafka_edu.trace.events.producer import (
    BatchAcknowledged,
    BatchDrained,
    BatchRetried,
    BatchSplit,
    ClientRequestSent,
    ClientResponseReceived,
    RecordAccumulated,
)
from kafka_edu.trace.reader import History
from kafka_edu.trace.tracer import Tracer
from tests.unit.instruments.simulated import WEB, Simulated

WHOLE = [
    "connection",
    "send",
    "drain",
    "sent",
    "request",
    "queue",
    "batch",
    "log",
    "wait",
    "follower",
    "committed",
    "waited",
    "answer",
    "response",
    "callback",
    "fetch",
    "consumer",
    "fetch",
    "delivered",
    "commit",
    "group",
    "commit",
]
"""The stages of a record's whole life, in their order. A stage may have several steps."""


class Clients:
    """A simulated cluster with topic web, and a process with our clients, which emit events."""

    def __init__(self) -> None:
        self.world = Simulated(Level.HOPS)
        self.process = SimProcess("clients")
        self._trace = Tracer(CLIENT, self.world.cluster.time)
        self._trace.add_sink(self.world.cluster.sink)

    def _servers(self) -> str:
        return ",".join(f"127.0.0.1:{FIRST_PORT + b}" for b in self.world.cluster.brokers)

    def producer(self, **settings: object) -> Producer:
        given = {"bootstrap.servers": self._servers(), "client.id": "shop", "acks": "all"}
        return Producer(
            given | {key.replace("_", "."): value for key, value in settings.items()},
            transport=self.world.cluster.network.transport(),
            time=self.world.cluster.time,
            trace=self._trace,
            chance=random.Random(3),
        )

    def consumer(self, client: str, group: str = "tills") -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self._servers(),
                "client.id": client,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            },
            transport=self.world.cluster.network.transport(),
            time=self.world.cluster.time,
            trace=self._trace,
            chance=random.Random(5),
        )

    async def send(self, *values: str, **settings: object) -> None:
        """Send records in one batch."""
        async with self.producer(linger_ms=50, **settings) as producer:
            for future in [await producer.send("web", value) for value in values]:
                await future

    async def read(self, consumer: Consumer, count: int) -> None:
        found = 0
        while found < count:
            found += len(await consumer.poll(1_000))

    def tell(self, tmp_path: Path, record: str) -> tuple[str, list[dict[str, Any]]]:
        """Run `story` for a record. Return its output, joined into one line, and the steps in its
        JSON output.
        """
        self.world.cluster.advance(2_000)
        self.world.sample()
        file, answer = self.world.record(tmp_path / "sim.jsonl.gz"), tmp_path / "answer.json"
        words = [record, "--replay", str(file), "--json", str(answer)]
        result = CliRunner().invoke(story, words, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        assert max(map(len, result.output.splitlines())) <= 80
        return " ".join(result.output.split()), json.loads(answer.read_text())["steps"]


@pytest.fixture
def clients() -> Iterator[Clients]:
    clients = Clients()
    yield clients
    clients.world.cluster.close()


def test_a_records_life_is_complete_from_send_to_the_committed_offset(
    clients: Clients, tmp_path: Path
) -> None:
    async def life() -> None:
        async with clients.consumer("till") as consumer:
            consumer.subscribe(["web"])
            await clients.send("one", "two", "three")
            await clients.read(consumer, 3)
            await consumer.commit()

    clients.world.cluster.run_as(clients.process, life(), 120_000)
    words, steps = clients.tell(tmp_path, "web-0@1")
    assert all(step["recorded"] for step in steps), [s for s in steps if not s["recorded"]]
    stages = [step["stage"] for step in steps]
    assert [s for s, before in zip(stages, ["", *stages], strict=False) if s != before] == WHOLE
    texts = {stage: [s["text"] for s in steps if s["stage"] == stage] for stage in stages}
    assert texts["send"] == ["shop's send() puts it into batch 1, at place 1"]
    assert texts["drain"][0].startswith("the sender takes batch 1 after 5")  # linger.ms=50
    assert ": 3 records, " in texts["drain"][0]
    assert texts["callback"][0].endswith("and calls the record's callback with offset 1")
    assert texts["delivered"] == ["poll() of till returns 3 records: the position moves 0 → 3"]
    [sent, appended, moved, *_, known] = texts["commit"]
    assert sent.startswith("till sends OffsetCommit #")
    assert sent.endswith(", to commit 3")
    assert appended.startswith("the coordinator appends it to __consumer_offsets-")
    assert moved.startswith("the high watermark of __consumer_offsets-")
    assert known == "till knows that its commit is stored"
    assert texts["group"] == ["group tills commits 3: it is past the record"]
    assert "The producer" in words
    since = [step["since_us"] for step in steps if step["stage"] != "connection"]
    assert since[0] == 0 == min(since)
    own = [step["event"] for step in steps if step["event"].startswith("cli")]
    numbers = [int(name.partition("#")[2]) for name in own]
    assert numbers == sorted(numbers)  # the story does not jump within the clients


def test_a_record_that_poll_returns_twice_is_told_twice(clients: Clients, tmp_path: Path) -> None:
    """A consumer reads the record again after a seek, and a consumer of a second group reads it
    too.
    """

    async def life() -> None:
        await clients.send("one", "two")
        async with clients.consumer("till") as till, clients.consumer("audit", "audits") as audit:
            till.subscribe(["web"])
            await clients.read(till, 2)
            till.seek(WEB, 0)
            await clients.read(till, 2)
            audit.subscribe(["web"])
            await clients.read(audit, 2)

    clients.world.cluster.run_as(clients.process, life(), 120_000)
    _, steps = clients.tell(tmp_path, "web-0@0")
    assert [s["text"] for s in steps if s["stage"] == "delivered"] == [
        "poll() of till returns 2 records: the position moves 0 → 2",
        "poll() of till returns 2 records again: the position moves 0 → 2",
        "poll() of audit returns 2 records: the position moves 0 → 2",
    ]
    assert [s["text"] for s in steps if s["stage"] == "group"] == [
        "no commit of a group past it was recorded"
    ]


def test_without_acks_the_callback_has_no_offset(clients: Clients, tmp_path: Path) -> None:
    clients.world.cluster.run_as(clients.process, clients.send("one", acks="0"), 60_000)
    words, steps = clients.tell(tmp_path, "web-0@0")
    assert "shop's send() puts it into batch 1, at place 0" in words
    assert "and calls the record's callback without an offset" in words
    assert not any(step["stage"] == "response" for step in steps)


LEADER = Source.of_broker(1)
SPLIT = BatchSplit(client="shop", topic="web", partition=0, batch=1, records=3, into=2)


def told(*events: tuple[Source, int, int, Event]) -> list[Envelope]:
    """Return envelopes of (source, number, cause, event), one ms apart."""
    return [
        Envelope(source, seq, cause, 1_000 + at, at * 1_000, event)
        for at, (source, seq, cause, event) in enumerate(events)
    ]


def accumulated(batch: int, place: int) -> RecordAccumulated:
    return RecordAccumulated(client="shop", topic="web", partition=0, batch=batch, place=place)


def drained(batch: int, records: int) -> BatchDrained:
    return BatchDrained(
        client="shop",
        topic="web",
        partition=0,
        batch=batch,
        records=records,
        bytes=100,
        waited_ms=1,
        base_sequence=-1,
    )


def sent(correlation_id: int) -> ClientRequestSent:
    return ClientRequestSent(
        client="shop",
        broker_id=1,
        local="127.0.0.1:7",
        correlation_id=correlation_id,
        api_key=0,
        version=9,
    )


def received(correlation_id: int) -> RequestReceived:
    return RequestReceived(
        connection_id="127.0.0.1:9092-127.0.0.1:7-0",
        correlation_id=correlation_id,
        api_key=0,
        api_version=9,
        client_id="shop",
        size_bytes=100,
        processor=0,
        queue_size=1,
    )


def answered(correlation_id: int) -> ClientResponseReceived:
    return ClientResponseReceived(
        client="shop",
        broker_id=1,
        local="127.0.0.1:7",
        correlation_id=correlation_id,
        api_key=0,
        took_ms=2,
    )


def acked(batch: int, records: int, base_offset: int) -> BatchAcknowledged:
    return BatchAcknowledged(
        client="shop",
        topic="web",
        partition=0,
        batch=batch,
        records=records,
        base_offset=base_offset,
        took_ms=9,
    )


def steps_of(
    envelopes: list[Envelope], offset: int, first: int | None, request: int | None
) -> tuple[list[str], list[str]]:
    """Return the producer's steps before and after the broker. `request` is the correlation id of
    the Produce request that the broker received.
    """
    by = [e for e in envelopes if isinstance(e.event, RequestReceived)]
    chosen = [e for e in by if e.event[1] == request]
    steps = ProducerSteps(
        History(envelopes), "web", 0, offset, first, chosen[0] if chosen else None
    )
    return (
        [step.text for step in steps.before_the_broker()],
        [step.text for step in steps.after_the_broker()],
    )


def test_a_batch_that_is_sent_again_is_stored_twice() -> None:
    """The response to the first request is lost. So the callback gets the offset of the second
    copy.
    """
    retried = BatchRetried(
        client="shop", topic="web", partition=0, batch=1, attempts=1, error="NETWORK_EXCEPTION"
    )
    envelopes = told(
        (CLIENT, 1, 0, accumulated(1, 0)),
        (CLIENT, 2, 0, accumulated(1, 1)),
        (CLIENT, 3, 1, drained(1, 2)),
        (CLIENT, 4, 3, sent(5)),
        (LEADER, 1, 0, received(5)),
        (CLIENT, 5, 4, retried),
        (CLIENT, 6, 5, drained(1, 2)),
        (CLIENT, 7, 6, sent(6)),
        (LEADER, 2, 0, received(6)),
        (CLIENT, 8, 7, answered(6)),
        (CLIENT, 9, 8, acked(1, 2, 2)),
    )
    before, after = steps_of(envelopes, 1, 0, 5)
    assert before == [
        "shop's send() puts it into batch 1, at place 1",
        "the sender takes batch 1 after 1 ms: 2 records, 100 bytes",
        "shop sends Produce #5 to broker 1",
    ]
    assert after == [
        "shop puts the batch back to send it again, because of NETWORK_EXCEPTION (attempt 1 has"
        " failed)",
        "the sender takes batch 1 after 1 ms: 2 records, 100 bytes",
        "shop sends Produce #6 to broker 1",
        "shop has the answer to #6, 2 ms after it sent the request",
        "shop ends batch 1, 9 ms after it began, and calls the record's callback with offset 3:"
        " the record is stored there too",
    ]
    before, after = steps_of(envelopes, 3, 2, 6)
    assert before[1] == "the sender takes batch 1 after 1 ms: 2 records, 100 bytes"
    assert "with offset 3" in after[-1]
    assert "stored there too" not in after[-1]
    assert len(before) == 6


@pytest.mark.parametrize(("offset", "place"), [(7, 0), (8, 1), (9, 2)])
def test_a_record_of_a_batch_that_was_split_is_found_in_the_whole_batch(
    offset: int, place: int
) -> None:
    envelopes = told(
        *((CLIENT, n + 1, 0, accumulated(1, n)) for n in range(3)),
        (CLIENT, 4, 1, drained(1, 3)),
        (CLIENT, 5, 4, sent(1)),
        (CLIENT, 6, 5, answered(1)),
        (CLIENT, 7, 6, SPLIT),
        (CLIENT, 8, 7, drained(2, 2)),
        (CLIENT, 9, 8, sent(2)),
        (LEADER, 1, 0, received(2)),
        (CLIENT, 10, 9, answered(2)),
        (CLIENT, 11, 10, acked(2, 2, 7)),
        (CLIENT, 12, 7, drained(3, 1)),
        (CLIENT, 13, 12, sent(3)),
        (LEADER, 2, 0, received(3)),
        (CLIENT, 14, 13, answered(3)),
        (CLIENT, 15, 14, acked(3, 1, 9)),
    )
    first, request = (9, 3) if offset == 9 else (7, 2)
    before, after = steps_of(envelopes, offset, first, request)
    assert before[0] == f"shop's send() puts it into batch 1, at place {place}"
    assert "the batch of 3 records is divided into 2" in before
    assert before[-1] == f"shop sends Produce #{request} to broker 1"
    assert after[-1].endswith(f"with offset {offset}")


def test_two_producers_with_one_client_id_leave_send_uncertain() -> None:
    """Both producers have a batch 1 of the partition. The events do not say in which of the two the
    record was.
    """
    envelopes = told(
        (CLIENT, 1, 0, accumulated(1, 0)),
        (CLIENT, 2, 0, accumulated(1, 0)),
        (CLIENT, 3, 1, drained(1, 1)),
        (CLIENT, 4, 3, sent(5)),
        (LEADER, 1, 0, received(5)),
    )
    before, _ = steps_of(envelopes, 0, 0, 5)
    assert before[0] == "the moment when send() put it into its batch was not recorded"
    assert before[-1] == "shop sends Produce #5 to broker 1"


def test_without_the_brokers_hops_the_acknowledgement_names_the_batch() -> None:
    envelopes = told(
        (CLIENT, 1, 0, accumulated(1, 0)),
        (CLIENT, 2, 1, drained(1, 1)),
        (CLIENT, 3, 2, sent(5)),
        (CLIENT, 4, 3, answered(5)),
        (CLIENT, 5, 4, acked(1, 1, 4)),
    )
    before, after = steps_of(envelopes, 4, None, None)
    assert before[0] == "shop's send() puts it into batch 1, at place 0"
    assert after == [
        "shop ends batch 1, 9 ms after it began, and calls the record's callback with offset 4"
    ]
    before, after = steps_of(envelopes, 5, None, None)
    assert before == ["the producer's send() was not recorded"]
    assert after == []


@pytest.mark.parametrize(
    ("records", "end"),
    [
        (5, "moves 0 → 5"),
        (
            3,
            "moves 0 → 5; it skips 2 offsets between them (markers, aborted transactions,"
            " compaction), perhaps this one too",
        ),
    ],
)
def test_if_poll_skips_offsets_the_record_may_be_one_of_them(records: int, end: str) -> None:
    """The event has only the number of the returned records. If offsets are missing between them,
    the wanted record may be one of the missing.
    """
    fetched = RecordsFetched(
        client="till",
        broker_id=1,
        topic="web",
        partition=0,
        offset=0,
        bytes=100,
        high_watermark=5,
    )
    advanced = PositionAdvanced(
        client="till", topic="web", partition=0, before=0, after=5, records=records
    )
    envelopes = told((CLIENT, 1, 0, sent(5)), (CLIENT, 2, 1, answered(5)))
    envelopes += told((CLIENT, 3, 2, fetched), (CLIENT, 4, 3, advanced))
    (delivery,) = deliveries(History(envelopes), "web", 0, 2)
    assert delivered_text(delivery).endswith(end)
