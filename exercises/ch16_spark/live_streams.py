"""The live part of the PySpark exercises on streams of JSON: topics of a real cluster, read with
both connectors. With each connector, the rows must be the right ones.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from kafka_edu.learner.learner import LearnerFailure
from kafka_edu.supervisor.cluster import Cluster, running_cluster

from ..runner.manifest import Exercise
from ..runner.material import new_seed
from ..runner.public_tests import SPARK_LIMITS
from ..runner.spark_learner import NO_TABLES, Row, SparkLearner, Tables
from ..runner.topics import make_topic
from ..runner.verdict import Step
from .blame import ENDS, SCHEMAS, TABLES, Deployment, Request, RightBlame
from .both_connectors import CONNECTORS, why_no_official
from .error_minutes import RightErrors, quiet_shop
from .live_job import CLUSTER, PARTITIONS
from .minutes import LINES
from .page_views import RECORDS, random_requests
from .sales import ORDERS, RightSales, random_orders
from .topic_writer import Record, write

SALES_ORDERS: Final = 4_000
BLAME_REQUESTS: Final = 4_000
ERROR_LINES: Final = 4_000
PAGE_VIEWS: Final = 4_000


class Message(NamedTuple):
    """A record of a live topic: its topic and key, and the row that its JSON value has."""

    topic: str
    key: str
    row: Row


class Scene(NamedTuple):
    """The records of a live part, and the rows that a correct job produces from them."""

    schemas: Mapping[str, str]
    """Topic → the fields of its JSON values, as DDL. The job gets the streams in this order."""
    messages: Sequence[Message]
    right: Sequence[Row]
    tables: Tables = NO_TABLES
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
                    at_once=scene.at_once,
                )
            except LearnerFailure as failure:
                yield Step(f"the job reads the topics {with_it}", False, failure.message)
                return
            yield compared_rows(f"the rows {with_it}", scene.right, rows.rows)
            if scene.most_state:
                held = rows.state_rows[-1] if rows.state_rows else 0
                seen = f"{held} rows, and {scene.most_state} are enough"
                yield Step(f"the state at the end {with_it}", held <= scene.most_state, seen)
    finally:
        learner.close()


def compared_rows(says: str, right: Sequence[Row], rows: Sequence[Row]) -> Step:
    """Return a Step that passes if a job has written exactly these rows, in any order."""
    came, wanted = sorted(rows, key=repr), sorted(right, key=repr)
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
    for topic, schema in scene.schemas.items():
        messages = [one for one in scene.messages if one.topic == topic]
        fill_topic(
            cluster, topic, [(one.key, json.dumps(value_of(schema, one.row))) for one in messages]
        )


def fill_topic(cluster: Cluster, topic: str, records: Sequence[tuple[str, str]]) -> None:
    """Make a topic, and write these records: key and value. Raises ClusterError."""
    make_topic(cluster, topic, cluster.broker_ids, PARTITIONS, {"retention.ms": "-1"})
    write(cluster.bootstrap_servers, topic, (Record(value, key) for key, value in records))


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

    A micro-batch reads a share of each partition, so one partition may be ahead of another. With
    four orders a second, this is some seconds: far less than the watermark's 2 minutes.
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


def blame(random: Random) -> Scene:
    """Make the requests and deployments of 16-11s. After one deployment, half of the requests to
    its service fail.
    """
    right, messages, now_s = RightBlame(), list[Message](), 0
    services = ("cart", "pay", "mail")
    deployed = [
        Deployment(service, at_s, f"{service}-{at_s}")
        for service in services
        for at_s in sorted(random.sample(range(BLAME_REQUESTS // 4), 3))
    ]
    bad = random.choice(deployed)
    for one in deployed:
        messages.append(Message("deployments", one.service, one.row()))
    requests = []
    for _ in range(BLAME_REQUESTS):
        now_s += random.choice((0, 0, 0, 1))
        service = random.choice(services)
        hit = service == bad.service and 0 <= now_s - bad.time_s < 120 and random.random() < 0.5
        failed = hit or random.random() < 0.02
        requests.append(Request(service, now_s, 503 if failed else 200))
        messages.append(Message("requests", f"{len(requests)}", requests[-1].row()))
    for batch in (deployed, requests, *ENDS):
        right.batch(batch)
    for topic, batch in zip(("requests", "deployments"), ENDS, strict=True):
        messages += (Message(topic, "end", one.row()) for one in batch)
    return Scene(SCHEMAS, messages, right.rows(), TABLES, most_state=2, at_once=BLAME_REQUESTS // 3)


def late_errors(random: Random) -> Scene:
    """Make the lines of 16-13s. They are at most one minute late, because a partition that is read
    ahead of the others uses up some of the watermark's 2 minutes.
    """
    *lines, end = quiet_shop(random, ERROR_LINES, (0, 0, 0, 1), latest_s=60)
    right = RightErrors()
    rows = [row for batch in (lines, [end]) for row in right.batch(batch)]
    messages = [
        Message("lines", f"{number}", one.row()) for number, one in enumerate((*lines, end))
    ]
    return Scene({"lines": LINES}, messages, rows, most_state=1, at_once=ERROR_LINES // 3)


def page_views(random: Random) -> Scene:
    """Make the requests of 16-14s."""
    requests = random_requests(random, PAGE_VIEWS)
    messages = [Message("requests", f"{number}", one) for number, one in enumerate(requests)]
    return Scene({"requests": RECORDS}, messages, [one.answer() for one in requests])


SCENES["16-10s"] = sales
SCENES["16-11s"] = blame
SCENES["16-13s"] = late_errors
SCENES["16-14s"] = page_views
