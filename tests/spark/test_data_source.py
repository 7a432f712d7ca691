"""Rows of our data source on a live cluster equal those that librdkafka reads."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.spark.source_errors import user_error
from kafka_edu.supervisor.cluster import Cluster, running_cluster

pytestmark = pytest.mark.spark
PATIENCE_S = 60
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


@pytest.fixture(scope="module", autouse=True)
def _pyspark() -> None:
    """Skip where PySpark is not installed, so each test imports what needs it."""
    pytest.importorskip("pyspark", reason="PySpark is not installed: ./kafka-edu setup spark")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster("spark-rows") as cluster:
        yield cluster


def fill(bootstrap: str) -> None:
    """Write records with nulls and headers to each topic, outside of and inside transactions."""
    new = [
        # the timestamps are long past: retention by time would delete them
        NewTopic(name, PARTITIONS, 3, config={"retention.ms": "-1", **config})
        for name, config in TOPICS.items()
    ]
    admin = AdminClient({"bootstrap.servers": bootstrap})
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
    wanted = [TopicPartition(name, p, 0) for name in TOPICS for p in range(PARTITIONS)]
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


def rows_of_spark(frame: Any) -> list[tuple[Any, ...]]:
    from pyspark.sql.functions import unix_millis

    return [
        (
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
        for row in frame.withColumn("ms", unix_millis("timestamp")).collect()
    ]


def test_rows_equal_those_of_librdkafka(cluster: Cluster, tmp_path: Path) -> None:
    """All codecs and formats, headers, nulls, aborted transactions; a batch and a stream."""
    from kafka_edu.spark.status_codes import spark_session

    bootstrap = cluster.bootstrap_servers
    fill(bootstrap)
    given = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribePattern": "rows-.*",
        "includeHeaders": "true",
    }
    with spark_session("rows", "local[2]") as spark:
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
        query.awaitTermination(PATIENCE_S * 5)
        batches = [progress for progress in query.recentProgress if progress["numInputRows"]]
        assert len(batches) == 2, "admission control from the first batch on"
        source = batches[0]["sources"][0]
        latest, end = source["latestOffset"], source["endOffset"]
        latest, end = (json.loads(x) if isinstance(x, str) else x for x in (latest, end))
        assert latest["rows-plain"]["0"] > end["rows-plain"]["0"], "lastProgress shows the lag"
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
