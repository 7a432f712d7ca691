"""Transactions with unmodified clients: commit and abort, read_committed,
consume-transform-produce, and the fencing of a zombie.

The client under test does the work. librdkafka's consumers check the result.
"""

import contextlib
import json
import subprocess
import uuid
from typing import ClassVar, Protocol

import pytest
from confluent_kafka import (
    OFFSET_INVALID,
    Consumer,
    ConsumerGroupState,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from kafka_edu.common.python_process import python_command, python_environment
from tests.interop.client_contract import create_topic, rd, read_to_end
from tests.interop.external_programs import java_program, python_package
from tests.interop.transaction_case import COMMITTED, PARTITIONS, STORY, WRITTEN
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.interop


class Client(Protocol):
    """Drives one client library."""

    def write(self, servers: str, topic: str, transactional_id: str) -> None:
        """Write the transactions of `transaction_case`, record i to partition i % 3."""
        ...

    def read(self, servers: str, topic: str, count: int) -> list[str]:
        """Return the topic's values, read with read_committed."""
        ...

    def transform(
        self, servers: str, topic_in: str, topic_out: str, name: str, count: int, commit: bool
    ) -> None:
        """Read `count` records, write each in upper case, and commit their offsets for the group
        `name`, all in one transaction.
        """
        ...

    def zombie(self, servers: str, topic: str, transactional_id: str) -> str:
        """Open a transaction with one producer, start another producer with the same id, then
        commit with the first. Returns `fenced` or `committed`.
        """
        ...


class ConfluentTransactions:
    """Drives librdkafka."""

    def _producer(self, servers: str, transactional_id: str) -> Producer:
        producer = Producer(rd(servers, transactional_id=transactional_id))
        producer.init_transactions(PATIENCE_S)
        return producer

    def write(self, servers: str, topic: str, transactional_id: str) -> None:
        producer = self._producer(servers, transactional_id)
        i = 0
        for values in STORY:
            producer.begin_transaction()
            for value in values[values[0] == "-" :]:
                producer.produce(topic, value, partition=i % PARTITIONS)
                i += 1
            producer.flush(PATIENCE_S)
            if values[0] == "-":
                producer.abort_transaction(PATIENCE_S)
            else:
                producer.commit_transaction(PATIENCE_S)

    def read(self, servers: str, topic: str, count: int) -> list[str]:
        return read_to_end(servers, topic, "read_committed", PARTITIONS, count)

    def transform(
        self, servers: str, topic_in: str, topic_out: str, name: str, count: int, commit: bool
    ) -> None:
        producer = self._producer(servers, name)
        consumer = Consumer(
            rd(
                servers,
                group_id=name,
                isolation_level="read_committed",
                auto_offset_reset="earliest",
                enable_auto_commit=False,
            )
        )
        try:
            consumer.subscribe([topic_in])
            producer.begin_transaction()
            while count:
                for message in consumer.consume(count, 0.2):
                    producer.produce(
                        topic_out, message.value().upper(), partition=message.partition()
                    )
                    count -= 1
            producer.flush(PATIENCE_S)  # an abort drops the records that were not sent yet
            producer.send_offsets_to_transaction(
                consumer.position(consumer.assignment()),
                consumer.consumer_group_metadata(),
                PATIENCE_S,
            )
            if commit:
                producer.commit_transaction(PATIENCE_S)
            else:
                producer.abort_transaction(PATIENCE_S)
        finally:
            consumer.close()

    def zombie(self, servers: str, topic: str, transactional_id: str) -> str:
        first = self._producer(servers, transactional_id)
        first.begin_transaction()
        first.produce(topic, "zombie", partition=0)
        first.flush(PATIENCE_S)
        second = self._producer(servers, transactional_id)
        second.begin_transaction()
        second.produce(topic, "living", partition=0)
        outcome = "committed"
        try:
            first.commit_transaction(PATIENCE_S)
        except KafkaException as error:
            outcome = "fenced" if error.args[0].code() == KafkaError._FENCED else str(error)
        second.commit_transaction(PATIENCE_S)
        return outcome


def aiokafka_transactions() -> Client:
    """Return the driver of aiokafka, a client in pure Python, or skip the test."""
    python_package("aiokafka")
    from tests.interop.aiokafka_transactions import AiokafkaTransactions

    return AiokafkaTransactions()


class JavaTransactions:
    """Drives the Java client 3.9 through java_transactions/Transactions.java."""

    command: ClassVar[list[str]] = []

    def _ask(self, *arguments: object) -> list[str]:
        done = subprocess.run(
            [*self._program(), *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        values: list[str] = (
            json.loads(done.stdout.strip().splitlines()[-1]) if done.stdout.strip() else []
        )
        return values

    def _program(self) -> list[str]:
        if not self.command:
            self.command.extend(java_program("java_transactions", "Transactions", "3.9.1"))
        return self.command

    def write(self, servers: str, topic: str, transactional_id: str) -> None:
        self._ask(
            "write",
            servers,
            topic,
            transactional_id,
            ",".join(" ".join(values).replace("- ", "-") for values in STORY),
        )

    def read(self, servers: str, topic: str, count: int) -> list[str]:
        return self._ask("read", servers, topic, count)

    def transform(
        self, servers: str, topic_in: str, topic_out: str, name: str, count: int, commit: bool
    ) -> None:
        self._ask("transform", servers, topic_in, topic_out, name, count, commit)

    def zombie(self, servers: str, topic: str, transactional_id: str) -> str:
        return self._ask("zombie", servers, topic, transactional_id)[0]


@pytest.fixture(
    params=[ConfluentTransactions, aiokafka_transactions, JavaTransactions],
    ids=["confluent-kafka", "aiokafka", "java"],
)
def client(request: pytest.FixtureRequest) -> Client:
    made: Client = request.param()
    return made


@pytest.fixture
def topic(servers: str) -> str:
    name = f"txn-{uuid.uuid4().hex[:8]}"
    create_topic(servers, name, PARTITIONS)
    return name


def test_what_is_committed_is_seen_and_what_is_aborted_is_not(
    client: Client, servers: str, topic: str
) -> None:
    client.write(servers, topic, f"writer of {topic}")
    assert sorted(client.read(servers, topic, len(COMMITTED))) == sorted(COMMITTED)
    assert sorted(
        read_to_end(servers, topic, "read_committed", PARTITIONS, len(COMMITTED))
    ) == sorted(COMMITTED)
    assert sorted(read_to_end(servers, topic, "read_uncommitted", PARTITIONS)) == sorted(WRITTEN)


def test_offsets_and_output_count_together(client: Client, servers: str, topic: str) -> None:
    client.write(servers, topic, f"writer of {topic}")
    output, name = f"{topic}-out", f"transform {topic}"
    create_topic(servers, output, PARTITIONS)
    checker = Consumer(rd(servers, group_id=name))
    places = [TopicPartition(topic, p) for p in range(PARTITIONS)]

    def committed() -> list[int]:
        """Return the committed offsets. While the markers of the group's transaction are being
        written, the broker does not return these offsets, so ask again.
        """

        def committed_now() -> list[int]:
            try:
                return [place.offset for place in checker.committed(places, timeout=PATIENCE_S)]
            except KafkaException as error:
                if error.args[0].code() == KafkaError.UNSTABLE_OFFSET_COMMIT:
                    return []
                raise

        return wait_for(committed_now, "the group's transaction is not over")

    client.transform(servers, topic, output, name, len(COMMITTED), False)
    assert read_to_end(servers, output, "read_committed", PARTITIONS) == []
    assert committed() == [OFFSET_INVALID] * PARTITIONS, "the offsets were aborted too"
    client.transform(servers, topic, output, name, len(COMMITTED), True)
    assert sorted(
        read_to_end(servers, output, "read_committed", PARTITIONS, len(COMMITTED))
    ) == sorted(value.upper() for value in COMMITTED)
    assert all(offset > 0 for offset in committed())
    assert len(read_to_end(servers, output, "read_uncommitted", PARTITIONS)) == 2 * len(COMMITTED)
    checker.close()


def test_a_zombie_is_fenced(client: Client, servers: str, topic: str) -> None:
    assert client.zombie(servers, topic, f"zombie of {topic}") == "fenced"
    assert read_to_end(servers, topic, "read_committed", PARTITIONS, 1) == ["living"]
    assert sorted(read_to_end(servers, topic, "read_uncommitted", PARTITIONS)) == [
        "living",
        "zombie",
    ]


def test_the_application_of_the_demo_ends_when_another_takes_its_place(
    servers: str, topic: str
) -> None:
    """If a second application with the same static member id starts, librdkafka's consumer in the
    first application has a fatal error. From that moment this consumer returns neither records nor
    errors.
    """
    name = f"transform {topic}"
    admin = AdminClient(rd(servers))

    def member() -> str:
        """Return the id of the group's only member, once it exists and has its partitions."""
        group = admin.describe_consumer_groups([name])[name].result(PATIENCE_S)
        return group.members[0].member_id if group.state is ConsumerGroupState.STABLE else ""

    command = python_command(
        "chapters.ch15_exactly_once.transform_app", servers, topic, f"{topic}-out", name, "0"
    )
    with contextlib.ExitStack() as stack:

        def started() -> subprocess.Popen[str]:
            application = stack.enter_context(
                subprocess.Popen(
                    command, env=python_environment(), stderr=subprocess.PIPE, text=True
                )
            )
            stack.callback(application.kill)
            return application

        first = started()
        before = wait_for(member, "the first is no member")
        second = started()
        assert "fenced" in first.communicate(timeout=PATIENCE_S)[1]
        assert first.returncode == 1
        assert wait_for(lambda: member() not in ("", before), "the second is no member")
        assert second.poll() is None
