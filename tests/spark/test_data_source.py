"""On a live cluster, our data source returns the same rows as librdkafka and as Spark's own
connector.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.common.topic_partition import TopicPartition as LagPartition
from kafka_edu.spark.source_errors import user_error
from kafka_edu.spark.stream_lag import stream_lag, with_metrics
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.waiting import wait_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
PATIENCE_S = 300  # a JVM on a busy machine
SESSION_MS = 3000
#: topic → its config. The last two store the message formats of old brokers.
TOPICS = {
    "rows-plain": {},
    "rows-lz4-by-leader": {
        "compression.type": "lz4",
        "message.timestamp.type": "LogAppendTime",
    },
    "rows-gzip": {"compression.type": "gzip"},
    "rows-snappy": {"compression.type": "snappy"},
    "rows-zstd": {"compression.type": "zstd"},
    "rows-v1": {"message.format.version": "0.10.0", "compression.type": "lz4"},
    "rows-v0": {"message.format.version": "0.9.0", "compression.type": "gzip"},
}
PARTITIONS = 2
#: A topic of one partition, whose leader is killed.
MOVING = "moving"
MOVING_RECORDS = 900


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    props = {"zookeeper.session.timeout.ms": str(SESSION_MS)}  # a dead leader is replaced soon
    with running_cluster("spark-rows", props=props) as cluster:
        fill(cluster.bootstrap_servers)
        yield cluster


def fill(bootstrap: str) -> None:
    """Write records with nulls and headers to each topic, with and without transactions. Then
    delete the first records of one partition.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(MOVING, 1, 3, config={"retention.ms": "-1"})])[MOVING].result(
        PATIENCE_S
    )
    new = [
        # the timestamps are long past: retention by time would delete them
        NewTopic(name, PARTITIONS, 3, config={"retention.ms": "-1", **config})
        for name, config in TOPICS.items()
    ]
    for future in admin.create_topics(new).values():
        future.result(PATIENCE_S)
    plain = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 20})
    transactional = Producer({"bootstrap.servers": bootstrap, "transactional.id": "rows"})
    transactional.init_transactions(PATIENCE_S)
    for turn in range(3):
        for topic, config in TOPICS.items():
            old = "message.format.version" in config
            for i in range(200):
                plain.produce(
                    topic,
                    value=None if i % 7 == 0 else b"%d " % i * (i % 50),
                    key=None if i % 5 == 0 else b"key %d" % i,
                    partition=i % PARTITIONS,
                    timestamp=1_700_000_000_000 + i,
                    headers=None if old or i % 3 else [("a", b"1"), ("größe", None), ("a", b"")],
                )
        assert plain.flush(PATIENCE_S) == 0
        transactional.begin_transaction()
        for topic, config in TOPICS.items():
            if "message.format.version" not in config:
                for i in range(20):
                    transactional.produce(topic, b"turn %d" % turn, partition=i % PARTITIONS)
        assert transactional.flush(PATIENCE_S) == 0
        if turn == 1:
            transactional.abort_transaction(PATIENCE_S)
        else:
            transactional.commit_transaction(PATIENCE_S)
    for i in range(MOVING_RECORDS):
        plain.produce(MOVING, b"%d" % i, partition=0, timestamp=1_700_000_000_000 + i)
    assert plain.flush(PATIENCE_S) == 0
    for cut in admin.delete_records([TopicPartition("rows-gzip", 0, 30)]).values():
        cut.result(PATIENCE_S)


def rows_of_librdkafka(bootstrap: str, isolation: str) -> set[tuple[Any, ...]]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "rows",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    wanted = [
        TopicPartition(name, p, OFFSET_BEGINNING) for name in TOPICS for p in range(PARTITIONS)
    ]
    consumer.assign(wanted)
    found, ended = set(), set()
    while len(ended) < len(wanted):
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        if message.error():
            ended.add((message.topic(), message.partition()))
            continue
        kind, timestamp = message.timestamp()
        found.add(
            (
                message.topic(),
                message.partition(),
                message.offset(),
                message.key(),
                message.value(),
                # librdkafka counts the types from 0: none, CreateTime, LogAppendTime
                kind - 1,
                timestamp if kind else -1,
                tuple(message.headers() or ()),
            )
        )
    consumer.close()
    return found


def rows_of_spark(frame: "DataFrame", *more: str) -> list[tuple[Any, ...]]:
    """Return a tuple for each row. If `more` names a further column, return pairs of the tuple and
    the column's value.
    """
    from pyspark.sql.functions import unix_millis

    found = []
    for row in frame.withColumn("ms", unix_millis("timestamp")).collect():
        values = (
            row["topic"],
            row["partition"],
            row["offset"],
            None if row["key"] is None else bytes(row["key"]),
            None if row["value"] is None else bytes(row["value"]),
            row["timestampType"],
            row["ms"],
            tuple(
                (name, None if value is None else bytes(value))
                for name, value in row["headers"] or ()
            ),
        )
        found.append((values, *(row[name] for name in more)) if more else values)
    return found


def test_rows_equal_those_of_librdkafka(
    cluster: Cluster, spark: "SparkSession", tmp_path: Path
) -> None:
    """The topics have all codecs and formats, headers, nulls and aborted transactions. They are
    read in a batch and as a stream.
    """
    bootstrap = cluster.bootstrap_servers
    given = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribePattern": "rows-.*",
        "includeHeaders": "true",
    }
    for isolation in ("read_uncommitted", "read_committed"):
        expected = rows_of_librdkafka(bootstrap, isolation)
        frame = spark.read.format("kafka-edu").options(
            **given, **{"kafka.isolation.level": isolation}
        )
        found = rows_of_spark(frame.option("minPartitions", "20").load())
        assert len(found) == len(set(found))
        assert set(found) == expected

    stream = (
        spark.readStream.format("kafka-edu")
        .options(**given, **{"kafka.isolation.level": "read_committed"})
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 2500)
        .load()
    )
    query = (
        stream.writeStream.format("memory")
        .queryName("rows")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(PATIENCE_S)
    batches = [progress for progress in query.recentProgress if progress["numInputRows"]]
    assert len(batches) == 2, "admission control from the first batch on"
    source = batches[0]["sources"][0]
    lag = stream_lag(source)
    assert lag is not None
    assert lag.by_partition[LagPartition("rows-plain", 0)] > 0, "lastProgress shows the lag"
    assert stream_lag(batches[-1]["sources"][0])[0] == 0  # type: ignore[index]  # there is one now
    assert sorted(rows_of_spark(spark.table("rows")), key=repr) == sorted(expected, key=repr)

    part = (
        spark.read.format("kafka-edu")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("assign", '{"rows-plain": [0]}')
        .option("startingOffsets", '{"rows-plain": {"0": 10}}')
        .option("endingOffsets", '{"rows-plain": {"0": 25}}')
        .load()
    )
    assert [row["offset"] for row in part.orderBy("offset").collect()] == list(range(10, 25))
    assert part.columns == [
        "key",
        "value",
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestampType",
    ]
    with pytest.raises(Exception, match="startingOffsets") as refused:
        spark.read.format("kafka-edu").options(**given, startingOfsets="earliest").load()
    assert user_error(refused.value) == (
        "option startingofsets is not known: did you mean startingOffsets?"
    )


def test_rows_equal_those_of_the_official_connector(
    cluster: Cluster, official: "SparkSession"
) -> None:
    """One job reads all topics with both connectors, at both isolation levels."""
    from functools import reduce

    from pyspark.sql import DataFrame
    from pyspark.sql.functions import lit

    readers = [
        (isolation, name)
        for isolation in ("read_uncommitted", "read_committed")
        for name in ("kafka", "kafka-edu")
    ]
    frames = [
        official.read.format(name)
        .option("kafka.bootstrap.servers", cluster.bootstrap_servers)
        .option("subscribePattern", "rows-.*")
        .option("includeHeaders", "true")
        .option("kafka.isolation.level", isolation)
        .load()
        for isolation, name in readers
    ]
    assert len({frame.schema.simpleString() for frame in frames}) == 1
    marked = [frame.withColumn("reader", lit(i)) for i, frame in enumerate(frames)]
    found: list[Counter[tuple[Any, ...]]] = [Counter() for _ in readers]
    for row, reader in rows_of_spark(reduce(DataFrame.unionAll, marked), "reader"):
        found[reader][row] += 1
    for (isolation, _), theirs, ours in zip(readers[::2], found[::2], found[1::2], strict=True):
        assert theirs, isolation
        assert ours == theirs, isolation
    aborted = {row[4] for row in found[0] - found[2]}
    assert aborted == {b"turn 1"}, "only the aborted transaction is left out"
    first = min(row[2] for row in found[0] if row[:2] == ("rows-gzip", 0))
    assert first == 30, "one partition begins after a gap"


def test_a_leader_that_dies_between_planning_and_reading_loses_and_repeats_nothing(
    cluster: Cluster, official: "SparkSession", tmp_path: Path
) -> None:
    """One stream reads the topic with both connectors. The topic's leader is killed in the second
    batch.
    """
    from pyspark.sql.functions import lit

    found: list[tuple[int, str, int]] = []
    frames = [
        official.readStream.format(name)
        .option("kafka.bootstrap.servers", cluster.bootstrap_servers)
        .option("subscribe", MOVING)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", MOVING_RECORDS // 3)
        .load()
        .select("offset", lit(name).alias("reader"))
        for name in ("kafka", "kafka-edu")
    ]
    leaders: list[int] = []

    def leader() -> int:
        topics = AdminClient({"bootstrap.servers": cluster.bootstrap_servers}).list_topics(MOVING)
        return int(topics.topics[MOVING].partitions[0].leader)

    def batch(frame: "DataFrame", number: int) -> None:
        if number == 1:
            leaders.append(leader())
            cluster.kill(leaders[0])  # the batch is planned, and no record of it read
        found.extend((number, row["reader"], row["offset"]) for row in frame.collect())

    query = (
        frames[0]
        .unionAll(frames[1])
        .writeStream.foreachBatch(batch)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert query.awaitTermination(PATIENCE_S)
        leaders.append(leader())
    finally:
        query.stop()
        cluster.start(leaders[0])
    assert leaders[0] != leaders[1]
    assert len(found) == 2 * MOVING_RECORDS
    assert set(found) == {
        (i // (MOVING_RECORDS // 3), reader, i)
        for reader in ("kafka", "kafka-edu")
        for i in range(MOVING_RECORDS)
    }
    metrics = []
    for progress in query.recentProgress:
        raw, filled = progress["sources"], with_metrics(progress)["sources"]
        ours = next(i for i, one in enumerate(raw) if not one["description"].startswith("KafkaV2"))
        assert not raw[ours]["metrics"], "Spark takes metrics of Java classes only"
        assert filled[ours]["metrics"] == dict(raw[1 - ours]["metrics"])
        metrics.append(filled[ours]["metrics"])
    behind = [int(one["maxOffsetsBehindLatest"]) for one in metrics]
    assert behind[0] == MOVING_RECORDS - MOVING_RECORDS // 3, "the first batch is one third"
    assert behind[-1] == 0


@pytest.mark.parametrize("fail", [True, False])
def test_records_deleted_between_planning_and_reading_fail_the_query_or_are_told(
    cluster: Cluster,
    spark: "SparkSession",
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    fail: bool,
) -> None:
    """The records are deleted after the batch was planned, and before its first record is read."""
    topic, deleted, records = f"lost-{fail}".lower(), 60, 100
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, 3)])[topic].result(PATIENCE_S)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
    for i in range(records):
        producer.produce(topic, b"%d" % i, partition=0)
    assert producer.flush(PATIENCE_S) == 0
    found: list[int] = []

    def batch(frame: "DataFrame", _: int) -> None:
        for cut in admin.delete_records([TopicPartition(topic, 0, deleted)]).values():
            cut.result(PATIENCE_S)
        found.extend(row["offset"] for row in frame.collect())

    query = (
        spark.readStream.format("kafka-edu")
        .option("kafka.bootstrap.servers", cluster.bootstrap_servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("failOnDataLoss", fail)
        .load()
        .writeStream.foreachBatch(batch)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    said = f"{topic}-0 has offsets {deleted} to {records}, and 0 is wanted"
    if fail:
        with pytest.raises(Exception) as lost:  # noqa: PT011 - Spark's, around ours
            query.awaitTermination(PATIENCE_S * 5)
        line = user_error(lost.value)
        assert line is not None
        assert line.startswith(f"{said}. Records that this query needs are gone.")
        assert found == []
        return
    assert query.awaitTermination(PATIENCE_S * 5)
    assert found == list(range(deleted, records))
    wait_for(lambda: any(one.startswith(said) for one in caplog.messages), "no notice came")


@pytest.mark.long
def test_a_first_micro_batch_that_was_planned_and_not_done_comes_again(
    cluster: Cluster, spark: "SparkSession", tmp_path: Path
) -> None:
    """The stream begins at the latest offset, and its first micro-batch fails. Before the second
    run, new records move the latest offset. The second run must still read from the planned offset.
    Spark runs micro-batch 0 even if it has no records.
    """
    topic, found = "from-the-end", list[int]()
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, 3)])[topic].result(PATIENCE_S)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})

    def write(count: int) -> None:
        for _ in range(count):
            producer.produce(topic, b"x", partition=0)
        assert producer.flush(PATIENCE_S) == 0

    def fail(_: "DataFrame", number: int) -> None:
        raise RuntimeError(f"the driver dies in micro-batch {number}")

    def read(frame: "DataFrame", _: int) -> None:
        found.extend(row["offset"] for row in frame.collect())

    stream = (
        spark.readStream.format("kafka-edu")
        .option("kafka.bootstrap.servers", cluster.bootstrap_servers)
        .option("subscribe", topic)
        .option("startingOffsets", "latest")
        .load()
        .writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    )
    write(5)
    first = stream.foreachBatch(fail).trigger(processingTime="0 seconds").start()
    with pytest.raises(Exception, match="the driver dies in micro-batch 0"):
        first.awaitTermination(PATIENCE_S)
    write(5)
    second = stream.foreachBatch(read).trigger(availableNow=True).start()
    assert second.awaitTermination(PATIENCE_S)
    assert found == [5, 6, 7, 8, 9]
