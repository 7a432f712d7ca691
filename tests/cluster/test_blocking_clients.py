"""Our blocking clients on one real broker: the calls, Ctrl-C, and what counts as read."""

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Iterator

import pytest

from kafka_edu.clients import blocking
from kafka_edu.clients.admin.admin import AdminStateException
from kafka_edu.clients.admin.topic_calls import NewTopic
from kafka_edu.clients.client_config import ConfigException
from kafka_edu.clients.client_errors import (
    BrokerException,
    ProducerClosedException,
    TimeoutException,
)
from kafka_edu.clients.consumer.consumer import ConsumerStateException
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.common.errors import Errors
from kafka_edu.common.python_process import checkout, python_command, python_environment
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.supervisor.cluster import running_cluster
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.cluster

RECORDS = 300
NOWHERE = "127.0.0.1:1"


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    props = {"group.initial.rebalance.delay.ms": "0"}
    with running_cluster("blocking", brokers=1, props=props) as cluster:
        yield cluster.bootstrap_servers


@pytest.fixture
def topic(servers: str, request: pytest.FixtureRequest) -> str:
    """Return a topic of one partition with the records 0, 1, 2 …"""
    name: str = request.node.name
    with blocking.Admin({"bootstrap.servers": servers}) as admin:
        admin.create_topics([NewTopic(name, 1, 1)]).all()
    with blocking.Producer({"bootstrap.servers": servers}) as producer:
        for number in range(RECORDS):
            producer.send(name, f"{number}", partition=0)
    return name


def consumer(servers: str, group: str) -> blocking.Consumer:
    return blocking.Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 600_000,  # so only close() commits
        }
    )


def committed(servers: str, group: str) -> int | None:
    with blocking.Admin({"bootstrap.servers": servers}) as admin:
        offsets = admin.list_consumer_group_offsets(group).all()
    return next((each.offset for each in offsets.values() if each is not None), None)


def values(records: list[object]) -> list[int]:
    return [int(value) for value in records if isinstance(value, bytes)]


def test_a_record_goes_out_and_comes_back(servers: str, topic: str) -> None:
    with blocking.Producer({"bootstrap.servers": servers}) as producer:
        future = producer.send(topic, b"last", b"key", headers={"h": b"1"})
        metadata = future.result(PATIENCE_S)
        assert (metadata.topic, metadata.partition, metadata.offset) == (topic, 0, RECORDS)
        assert future.done()
        assert future.exception() is None
        assert producer.partitions_for(topic) == [TopicPartition(topic, 0)]
    assert future.result() == metadata, "the metadata outlives the producer"
    with consumer(servers, "") as reader:
        tp = TopicPartition(topic, 0)
        reader.assign([tp])
        reader.seek(tp, RECORDS)
        record = next(reader)
        assert (record.key, record.value, record.headers) == (b"key", b"last", (("h", b"1"),))
        assert reader.end_offsets([tp]) == {tp: RECORDS + 1}


def test_an_error_is_kafkas(servers: str) -> None:
    with pytest.raises(ConfigException, match=r"Did you mean bootstrap\.servers"):
        blocking.Producer({"bootstrap.server": servers})
    with blocking.Admin({"bootstrap.servers": servers}) as admin:
        with pytest.raises(BrokerException) as caught:
            admin.delete_topics(["no-such-topic"]).all()
        assert caught.value.error is Errors.UNKNOWN_TOPIC_OR_PARTITION
        listed = admin.list_topics
    with pytest.raises(AdminStateException, match="already been closed"):
        listed()
    with blocking.Producer({"bootstrap.servers": NOWHERE, "max.block.ms": 1}) as producer:
        future = producer.send("t", b"x")
        assert isinstance(future.exception(), TimeoutException)
        with pytest.raises(TimeoutException, match="not present in metadata"):
            future.result()
    with pytest.raises(ProducerClosedException):
        producer.send("t", b"x")


def test_close_keeps_its_time(servers: str) -> None:
    """The record waits for linger.ms, and close() does not."""
    with blocking.Producer({"bootstrap.servers": servers, "linger.ms": 60_000}) as producer:
        future = producer.send("close", b"x")
        with pytest.raises(TimeoutException, match="no answer after 0"):
            future.result(0.001)
        producer.close(0)
        assert isinstance(future.exception(), ProducerClosedException)
        producer.close()


def test_only_the_records_that_the_program_got_count_as_read(servers: str, topic: str) -> None:
    read: list[object] = []
    with consumer(servers, topic) as reader:
        reader.subscribe([topic])
        for record in reader:
            read.append(record.value)
            if len(read) == 100:
                break
    assert committed(servers, topic) == 100
    with consumer(servers, topic) as reader:
        reader.subscribe([topic])
        for record in reader:
            read.append(record.value)
            if len(read) == 150:
                assert reader.position(TopicPartition(topic, 0)) == 150
            if len(read) == 200:
                read.extend(each.value for each in reader.poll(PATIENCE_S * 1000))
                break
    assert values(read) == list(range(len(read)))
    assert len(read) > 200
    assert committed(servers, topic) == len(read)


def test_a_program_may_commit_after_each_record(servers: str, topic: str) -> None:
    tp = TopicPartition(topic, 0)
    with consumer(servers, topic) as reader:
        reader.subscribe([topic])
        for number, record in enumerate(reader):
            assert record.offset == number
            reader.commit()
            offset = reader.committed([tp])[tp]
            assert isinstance(offset, OffsetAndMetadata)
            assert offset.offset == number + 1
            if number == 20:
                break


def test_a_listener_runs_in_the_programs_thread_and_may_call_the_consumer(
    servers: str, topic: str
) -> None:
    calls: list[tuple[str, int]] = []
    tp = TopicPartition(topic, 0)

    def assigned(partitions: tuple[TopicPartition, ...]) -> None:
        reader.seek(tp, 7)
        calls.append((f"assigned {partitions[0].partition}", threading.get_ident()))

    def revoked(partitions: tuple[TopicPartition, ...]) -> None:
        reader.commit({tp: OffsetAndMetadata(99)})
        calls.append((f"revoked {partitions[0].partition}", threading.get_ident()))

    with consumer(servers, topic) as reader:
        reader.subscribe([topic], on_assigned=assigned, on_revoked=revoked)
        assert next(reader).offset == 7
        reader.unsubscribe()
    me = threading.get_ident()
    assert calls == [("assigned 0", me), ("revoked 0", me)]
    assert committed(servers, topic) == 99


def send_and_fail(producer: blocking.Producer, topic: str) -> None:
    with producer.transaction():
        producer.send(topic, b"aborted", partition=0)
        raise ZeroDivisionError


def test_a_transaction_is_committed_or_aborted_at_the_end_of_its_block(
    servers: str, topic: str
) -> None:
    tp = TopicPartition(topic, 0)
    settings = {"bootstrap.servers": servers, "transactional.id": topic}
    with blocking.Producer(settings) as producer, consumer(servers, topic) as reader:
        producer.init_transactions()
        reader.subscribe([topic])
        first = next(reader)
        done = {tp: OffsetAndMetadata(first.offset + 1)}
        with producer.transaction():
            producer.send(topic, b"committed", partition=0)
            producer.send_offsets_to_transaction(done, reader.group_metadata())
        assert reader.committed([tp])[tp].offset == 1
        with pytest.raises(ZeroDivisionError):
            send_and_fail(producer, topic)
        with producer.transaction():
            producer.send(topic, b"last", partition=0)
    settings = {"bootstrap.servers": servers, "isolation.level": "read_committed"}
    with blocking.Consumer(settings) as reader:
        reader.assign([tp])
        reader.seek(tp, RECORDS)
        assert [next(reader).value, next(reader).value] == [b"committed", b"last"]


def test_a_notebook_has_a_loop_of_its_own(servers: str, topic: str) -> None:
    async def cell() -> int:
        with blocking.Consumer({"bootstrap.servers": servers}) as reader:
            reader.assign([TopicPartition(topic, 0)])
            reader.seek_to_beginning()
            return sum(1 for _, _ in zip(range(10), reader, strict=False))

    assert asyncio.run(cell()) == 10


def test_another_thread_may_close_the_consumer(servers: str, topic: str) -> None:
    read_all = threading.Event()
    reader = consumer(servers, "")
    reader.assign([TopicPartition(topic, 0)])
    reader.seek_to_beginning()

    def close() -> None:
        read_all.wait(PATIENCE_S)
        reader.close()

    closer = threading.Thread(target=close)
    closer.start()
    count = 0
    for _ in reader:  # waits for ever after the last record, unless it is closed
        count += 1
        if count == RECORDS:
            read_all.set()
    closer.join(PATIENCE_S)
    assert count == RECORDS
    with pytest.raises(ConsumerStateException, match="already been closed"):
        reader.poll()


_READER = """
import sys
from kafka_edu.clients import blocking

servers, topic = sys.argv[1:]
settings = {"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest"}
try:
    with blocking.Consumer(settings) as consumer:
        consumer.subscribe([topic])
        for record in consumer:
            print(record.value.decode(), flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_ends_a_program_that_waits_for_records(servers: str, topic: str) -> None:
    command = [*python_command("-")[:-2], "-c", _READER, servers, topic]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=python_environment(), cwd=checkout()
    ) as program:
        try:
            assert program.stdout is not None
            for number in range(RECORDS):
                assert program.stdout.readline() == f"{number}\n"
            os.kill(program.pid, signal.SIGINT)
            rest, _ = program.communicate(timeout=PATIENCE_S)
        finally:
            program.kill()
    assert rest == "interrupted\n"
    assert program.returncode == 0
    assert committed(servers, topic) == RECORDS
