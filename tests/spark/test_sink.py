"""The sink of our data source on a live cluster: a consumer reads exactly the records that Spark
has written.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.spark.source_errors import user_error
from kafka_edu.supervisor.cluster import Cluster, running_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PATIENCE_S = 300  # a JVM on a busy machine
PARTITIONS = 3


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster("spark-sink") as cluster:
        yield cluster


def create(cluster: Cluster, *topics: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for future in admin.create_topics([NewTopic(name, PARTITIONS, 3) for name in topics]).values():
        future.result(PATIENCE_S)


def read(cluster: Cluster, topic: str) -> list[Any]:
    """Return all committed messages of a topic, as librdkafka reads them."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, p, 0) for p in range(PARTITIONS)])
    found, ended = [], 0
    while ended < PARTITIONS:
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        if message.error():
            ended += 1
        else:
            found.append(message)
    consumer.close()
    return found


def test_a_batch_is_written_with_keys_headers_nulls_and_partitions(
    spark: "SparkSession", cluster: Cluster
) -> None:
    create(cluster, "sink-rows", "sink-other")
    frame = spark.range(3000).selectExpr(
        "if(id % 5 = 0, null, cast(concat('key ', id) as binary)) as key",
        "if(id % 7 = 0, null, concat('line ', id)) as value",
        "if(id % 3 = 0, 'sink-other', 'sink-rows') as topic",
        "if(id % 2 = 0, cast(id % 3 as int), null) as partition",
        "if(id % 4 = 0, array(struct('n' as key, cast('v' as binary) as value)), null) as headers",
        "id as ignored",
    )
    given = {
        "kafka.bootstrap.servers": cluster.bootstrap_servers,
        "kafka.compression.type": "lz4",
        "kafka.batch.size": "4000",
    }
    frame.write.format("kafka-edu").options(**given).mode("append").save()
    found = {topic: read(cluster, topic) for topic in ("sink-rows", "sink-other")}
    rows = Counter(
        (
            m.topic(),
            m.key(),
            m.value(),
            tuple((k, v) for k, v in m.headers() or ()),
        )
        for messages in found.values()
        for m in messages
    )
    expected = Counter(
        (
            row["topic"],
            None if row["key"] is None else bytes(row["key"]),
            None if row["value"] is None else row["value"].encode(),
            tuple((h["key"], bytes(h["value"])) for h in row["headers"] or ()),
        )
        for row in frame.collect()
    )
    assert rows == expected
    chosen = {(m.topic(), m.value()): m.partition() for ms in found.values() for m in ms}
    for row in frame.where("partition is not null and value is not null").collect():
        assert chosen[row["topic"], row["value"].encode()] == row["partition"]


@pytest.mark.parametrize("by", ["slot", "source"])
def test_a_repeated_batch_is_written_once(
    spark: "SparkSession", cluster: Cluster, tmp_path: Path, by: str
) -> None:
    """Removing the last commit from the checkpoint makes Spark repeat the batch."""
    from kafka_edu.spark.slots import by_slot, by_source

    source, once, again = f"sink-source-{by}", f"sink-once-{by}", f"sink-again-{by}"
    create(cluster, source, once, again)
    servers = {"kafka.bootstrap.servers": cluster.bootstrap_servers}
    lines = spark.range(1000).selectExpr("concat('line ', id) as value")
    lines.write.format("kafka-edu").options(**servers, topic=source).mode("append").save()
    stream = (
        spark.readStream.format("kafka-edu")
        .options(**servers, subscribe=source, startingOffsets="earliest")
        .load()
    )
    slotted = (
        by_slot(stream.select("value"), 2)
        if by == "slot"
        else by_source(stream).select("slot", "value")
    )
    for topic, delivery in ((once, "exactly-once"), (again, "at-least-once")):
        checkpoint = tmp_path / topic
        for turn in range(2):
            query = (
                slotted.writeStream.format("kafka-edu")
                .options(**servers, topic=topic, delivery=delivery)
                .option("checkpointLocation", str(checkpoint))
                .trigger(availableNow=True)
                .start()
            )
            assert query.awaitTermination(PATIENCE_S)
            if turn == 0:
                (checkpoint / "commits" / "0").unlink()
                (checkpoint / "commits" / ".0.crc").unlink(missing_ok=True)
    expected = {b"line %d" % i for i in range(1000)}
    written = [m.value() for m in read(cluster, once)]
    assert len(written) == 1000
    assert set(written) == expected
    doubled = Counter(m.value() for m in read(cluster, again))
    assert doubled == dict.fromkeys(expected, 2), "at least once: the repeated batch is there twice"


@pytest.mark.parametrize(
    ("columns", "options", "line"),
    [
        ("'a' as vaule", {"topic": "t"}, r"no column value: did you mean vaule\?"),
        ("id as value", {"topic": "t"}, "column value is bigint: it must be binary or string"),
        ("'a' as value", {}, "no topic is named: give the option topic"),
        ("'a' as value", {"topik": "t"}, r"option topik is not known: did you mean topic\?"),
        ("'a' as value", {"topic": "sink-none"}, "topic sink-none does not exist on .*: create it"),
        ("'a' as value", {"topic": "sink-bad", "kafka.max.request.size": "20"}, "is larger than"),
        ("'a' as value, 7 as partition", {"topic": "sink-bad"}, "names partition 7 of topic sink"),
        ("'a' as value", {"topic": "t", "delivery": "exactly-once"}, "only a streaming query"),
    ],
)
def test_a_mistake_is_one_line(
    spark: "SparkSession",
    cluster: Cluster,
    columns: str,
    options: dict[str, str],
    line: str,
) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    if "sink-bad" not in admin.list_topics(timeout=PATIENCE_S).topics:
        create(cluster, "sink-bad")
    servers = {"kafka.bootstrap.servers": cluster.bootstrap_servers}
    writer = spark.range(1).selectExpr(*columns.split(", ")).write.format("kafka-edu")
    with pytest.raises(Exception, match=line) as refused:
        writer.options(**servers, **options).mode("append").save()
    shown = user_error(refused.value)
    assert shown is not None
    assert "\n" not in shown
