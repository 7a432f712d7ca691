"""The live part of the PySpark exercises on streams of JSON: topics of a real cluster, read with
both connectors. The rows are compared with the right ones, and so are the two connectors.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from kafka_edu.learner.learner import LearnerFailure
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster

from ..runner.manifest import Exercise
from ..runner.material import new_seed
from ..runner.public_tests import SPARK_LIMITS
from ..runner.spark_learner import NO_TABLES, Row, Rows, SparkLearner, Tables
from ..runner.topics import make_topic
from ..runner.verdict import Step
from .live_job import CLUSTER, PARTITIONS
from .sales import ORDERS, RightSales, random_orders

FLUSH_S: Final = 120.0
SALES_ORDERS: Final = 4_000
CONNECTORS: Final = ("python", "official")


class Message(NamedTuple):
    """A record of a live topic: its topic and key, and the row that its JSON value has."""

    topic: str
    key: str
    row: Row


class Scene(NamedTuple):
    """The records of a live part, and the rows that a right job makes of them."""

    schemas: Mapping[str, str]
    """Topic → the fields of its JSON values, as DDL. The job gets the streams in this order."""
    messages: Sequence[Message]
    right: Sequence[Row]
    tables: Tables = NO_TABLES
    mode: str = "append"
    most_state: int = 0
    """The most rows that the state may have at the end; 0 if it is not judged."""
    at_once: int = 2_000


SCENES: Final[dict[str, Callable[[Random], Scene]]] = {}
"""Id of the exercise → the function that makes its records."""


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Start a cluster, and yield the steps of `check_on`. `patience_s` is not needed, because the
    job reads what is there. Raises ClusterError.
    """
    say("a cluster of three brokers starts")
    with (
        tempfile.TemporaryDirectory(prefix="kafka-edu-", ignore_cleanup_errors=True) as home,
        running_cluster(CLUSTER, home=Path(home)) as cluster,
    ):
        yield from check_on(cluster, exercise, file, say)


def check_on(
    cluster: Cluster, exercise: Exercise, file: Path | None, say: Callable[[str], None]
) -> Iterator[Step]:
    """Fill the topics, run the job with both connectors, and yield the checks of its rows.

    Raises ClusterError.
    """
    scene = SCENES[exercise.id](Random(new_seed()))
    fill(cluster, scene)
    learner = SparkLearner(file or exercise.solution, exercise.wanted, allowance=SPARK_LIMITS.call)
    try:
        for connector in CONNECTORS:
            if connector == "official" and (why := why_no_official()):
                say(f"the job is not run with Spark's own connector. {why}")
                break
            say(f"Spark runs the job with the connector {connector}")
            with_it = f"with the connector {connector}"
            try:
                rows = learner.topics(
                    cluster.bootstrap_servers,
                    scene.schemas,
                    connector=connector,
                    tables=scene.tables,
                    mode=scene.mode,
                    at_once=scene.at_once,
                )
            except LearnerFailure as failure:
                yield Step(f"the job reads the topics {with_it}", False, failure.message)
                return
            yield compared_rows(f"the rows {with_it}", scene.right, rows)
            if scene.most_state:
                held = rows.state_rows[-1] if rows.state_rows else 0
                seen = f"{held} rows, and {scene.most_state} are enough"
                yield Step(f"the state at the end {with_it}", held <= scene.most_state, seen)
    finally:
        learner.close()


def why_no_official() -> str:
    """Return why Spark's own connector cannot be used here; empty if it can be."""
    from pyspark import __version__

    from kafka_edu.spark.official_jars import OfficialConnectorMissing, official_jars

    try:
        official_jars(__version__)
    except OfficialConnectorMissing as error:
        return str(error)
    return ""


def compared_rows(says: str, right: Sequence[Row], rows: Rows) -> Step:
    """Return a Step that passes if a job has written exactly these rows, in any order."""
    came, wanted = rows.rows, sorted(right, key=repr)
    if came == wanted:
        return Step(says, True, f"{len(wanted):,} rows, as they should be")
    missing = [row for row in wanted if row not in came]
    other = [row for row in came if row not in wanted]
    seen = f"{len(came):,} rows, and {len(wanted):,} are right"
    if missing:
        seen += f"; missing: {missing[0]}"
    if other:
        seen += f"; wrong: {other[0]}"
    return Step(says, False, seen)


def fill(cluster: Cluster, scene: Scene) -> None:
    """Make the topics of a scene, and write its records. Raises ClusterError."""
    from confluent_kafka import KafkaError, Producer

    for topic in scene.schemas:
        make_topic(cluster, topic, cluster.broker_ids, PARTITIONS, {"retention.ms": "-1"})
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
    refused: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            refused.append(error)

    for message in scene.messages:
        producer.produce(
            message.topic,
            json.dumps(value_of(scene.schemas[message.topic], message.row)).encode(),
            message.key.encode(),
            on_delivery=delivered,
        )
        producer.poll(0)
    if producer.flush(FLUSH_S) or refused:
        raise ClusterError(f"the topics could not be filled: {refused[:1] or 'no answer'}")


def value_of(schema: str, row: Row) -> dict[str, object]:
    """Return the JSON value of a record: each field by its name, and times as text."""
    from datetime import UTC, datetime

    found: dict[str, object] = {}
    for field, value in zip(schema.split(","), row, strict=True):
        name, kind = field.split()
        if kind == "timestamp" and isinstance(value, int):
            moment = datetime.fromtimestamp(value / 1_000_000, UTC)
            value = moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        found[name] = value
    return found


def sales(random: Random) -> Scene:
    """Make the orders of 16-10s. All copies of an order are in one partition, in their order.

    A micro-batch reads the partitions in proportion, and so one may be some seconds of the log
    ahead of another. Four orders a second make that far less than the 2 minutes of the watermark.
    """
    *batches, end = random_orders(random, 1, SALES_ORDERS, steps_s=(0, 0, 0, 1))
    right = RightSales()
    rows = [row for batch in (*batches, end) for row in right.batch(batch)]
    messages = [
        Message("orders", f"{order.shop}/{order.id}", order.row())
        for batch in (*batches, end)
        for order in batch
    ]
    return Scene({"orders": ORDERS}, messages, rows, most_state=2, at_once=SALES_ORDERS // 3)


SCENES["16-10s"] = sales
