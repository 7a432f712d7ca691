"""Chapter 15's pictures agree with the chapter's page. The broker's own classes compute them. On a
simulated cluster, the program that kills itself loses and duplicates the records that the page
names.
"""

import os
from collections.abc import Coroutine
from pathlib import Path

import pytest

from chapters.ch15_exactly_once.jobs import JOBS
from chapters.ch15_exactly_once.killed_transform import (
    AT_ONCE,
    BILLS_TOPIC,
    ORDERS,
    ORDERS_TOPIC,
    Transform,
    number_of,
)
from chapters.ch15_exactly_once.pictures import (
    DRAWINGS,
    SENT,
    fate,
    figures,
    readings,
    remembered,
    sequence_answers,
)
from chapters.ch15_exactly_once.transform_jobs import ORDERS_SENT
from chapters.chapter import find_chapters
from chapters.demo_parts.counted import counted
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.errors import Errors
from kafka_edu.log.producer_state_entry import BATCHES_TO_RETAIN
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import FIRST_PORT, SimCluster
from kafka_edu.sim.sim_loop import SimProcess
from kafka_edu.trace.events.client import RecordsCounted
from tui.presenter.run import screen_names

SAID = {
    "sequences": {
        "remembered": "5",
        "gap": "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "too_old": "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "old_epoch": "INVALID_PRODUCER_EPOCH",
    },
    "memory": {"before": "5", "after_stop": "1", "after_kill": "5"},
    "isolation": {
        "lso_open": "1",
        "lso_commit": "2",
        "read_commit": "2",
        "lso_end": "7",
        "uncommitted_end": "5",
        "committed_end": "4",
    },
    "states": {"states": "8", "allowed": "16"},
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_picture_binds_what_the_page_says(name: str) -> None:
    assert DRAWINGS[name]().names == SAID[name]


def test_only_the_next_number_is_appended_and_only_the_last_five_are_recognised() -> None:
    answers = [(one.epoch, one.sequence, one.answer) for one in sequence_answers()]
    assert answers == [
        (0, SENT - 1, f"duplicate of {SENT - 1}"),
        (0, SENT - 5, f"duplicate of {SENT - 5}"),
        (0, SENT - 6, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        (0, SENT + 1, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        (0, SENT, f"appended at {SENT}"),
        (1, 0, f"appended at {SENT + 1}"),
        (0, SENT + 1, "INVALID_PRODUCER_EPOCH"),
        (0, 42, f"appended at {SENT + 2}"),
    ]


def test_a_stopped_leader_forgets_all_but_the_last_batch() -> None:
    assert remembered() == (BATCHES_TO_RETAIN, 1, BATCHES_TO_RETAIN)


def test_the_oldest_open_transaction_holds_the_last_stable_offset() -> None:
    assert [one.lso for one in readings()] == [1, 1, 1, 1, 2, 2, 7]
    assert [one.leo for one in readings()] == [1, 2, 3, 4, 5, 6, 7]
    assert [" ".join(one.committed) for one in readings()] == [
        *("x", "x", "x", "x"),
        *("x a1", "x a1"),
        "x a1 a2 y",
    ]
    assert readings()[-1].uncommitted == ("x", "a1", "b1", "a2", "y")


def test_the_script_runs_each_job() -> None:
    steps = find_chapters()["15"].script(screen_names()).steps
    assert sorted(step.job for step in steps if step.job) == sorted(JOBS)


def test_figures_are_not_empty() -> None:
    assert all(len(figure.source) > 300 for figure in figures().values())


class Died(Exception):
    """Stands for SIGKILL: no code of the program runs after it, and nothing is closed."""


class Killing:
    """The program on a simulated cluster, killed after each step of its loop."""

    def __init__(self, name: str, mail: Path) -> None:
        properties = {
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.num.partitions": "1",
        }
        self._cluster = SimCluster(1, properties=properties)
        self._cluster.start_all()
        self._process = SimProcess("program")
        self._order = ORDERS[name]
        self._mail = mail
        client = SimClient(self._cluster)
        for tp in (ORDERS_TOPIC, BILLS_TOPIC):
            made = self._cluster.run_as(client.process, client.create_topic(tp.topic, 1, 3))
            assert made is Errors.NONE
        self._run(self._send_orders())

    def close(self) -> None:
        self._cluster.close()

    def _run(self, program: Coroutine[object, object, object]) -> None:
        self._cluster.run_as(self._process, program, 600_000)

    def _servers(self) -> dict[str, object]:
        return {"bootstrap.servers": f"127.0.0.1:{FIRST_PORT + min(self._cluster.brokers)}"}

    def _producer(self, **more: object) -> Producer:
        settings = {**self._servers(), **{key.replace("_", "."): more[key] for key in more}}
        return Producer(
            settings, transport=self._cluster.network.transport(), time=self._cluster.time
        )

    def _consumer(self, isolation: str) -> Consumer:
        settings = {
            **self._servers(),
            "group.id": "bills",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": isolation,
        }
        return Consumer(
            settings, transport=self._cluster.network.transport(), time=self._cluster.time
        )

    async def _send_orders(self) -> None:
        async with self._producer(linger_ms=1_000) as producer:
            for number in range(ORDERS_SENT):
                await producer.send(ORDERS_TOPIC.topic, b"order %d" % number, partition=0)

    async def _start(self, die_after: str, hit: list[int]) -> None:
        more = {"transactional_id": "bills"} if self._order.transactional else {}
        producer = await self._producer(**more).start()
        if self._order.transactional:
            await producer.init_transactions()
        consumer = await self._consumer("read_uncommitted").start()
        consumer.assign([ORDERS_TOPIC])
        program = Transform(consumer, producer, self._order, "bills", self._mail)
        try:
            await program.run(ORDERS_SENT, die_after)
        except Died:
            hit.append(number_of(program.orders[0]))
        else:
            await consumer.close()
            await producer.close()

    def start(self, die_after: str) -> int:
        """Run the program. If it died, return the number of the first order in the batch that it
        was working on, otherwise -1.
        """
        hit: list[int] = []
        self._run(self._start(die_after, hit))
        return hit[0] if hit else -1

    def bills(self) -> list[int]:
        """Return the orders of the bills that read_committed reads."""
        found: list[int] = []

        async def read() -> None:
            async with self._consumer("read_committed") as consumer:
                consumer.assign([BILLS_TOPIC])
                consumer.seek(BILLS_TOPIC, 0)
                end = (await consumer.end_offsets([BILLS_TOPIC]))[BILLS_TOPIC]
                while await consumer.position(BILLS_TOPIC) < end:
                    found.extend(map(number_of, await consumer.poll(1_000)))

        self._run(read())
        return found


@pytest.mark.parametrize("name", ORDERS)
def test_each_kill_has_the_fate_that_the_page_tells_of(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(pid: int, number: int) -> None:
        raise Died

    monkeypatch.setattr(os, "kill", die)
    order, mail = ORDERS[name], tmp_path / "mail"
    killing = Killing(name, mail)
    firsts = {step: killing.start(step) for step in order.steps}
    assert -1 not in firsts.values()
    assert killing.start("") == -1
    bills = killing.bills()
    killing.close()

    def missing_and_again(first: int, count: int, found: list[int]) -> tuple[int, int]:
        seen = counted("", "", range(first, first + count), found)
        return seen.missing, seen.again

    for step, first in firsts.items():
        missing, again, _ = fate(order, step)
        assert missing_and_again(first, AT_ONCE, bills) == (missing, again), step
    fates = [fate(order, step) for step in order.steps]
    missing = sum(one.missing for one in fates)
    again = sum(one.again for one in fates)
    assert missing_and_again(0, ORDERS_SENT, bills) == (missing, again)
    mailed = [int(number) for number in mail.read_text("ascii").split()]
    mailed_again = sum(one.mailed_again for one in fates)
    assert missing_and_again(0, ORDERS_SENT, mailed) == (missing, mailed_again)


def test_what_is_missing_and_what_is_there_again_are_counted_apart() -> None:
    found = [0, 1, 1, 1, 2, 9, 9]
    assert counted("c", "p", range(4), found) == RecordsCounted(
        client="c", place="p", records=4, missing=1, again=2
    )
