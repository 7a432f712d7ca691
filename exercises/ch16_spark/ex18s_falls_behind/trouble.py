"""Start the cluster of exercise 16-18s with its shop and its query, check all three, and end them.

The shop has our producer, and the query has our connector. So kafka-python reads the clicks for the
check: an independent client judges.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from kafka_edu.clients.admin.topic_calls import NewPartitions
from kafka_edu.clients.blocking import Admin
from kafka_edu.common.busy_machine import Allowance
from kafka_edu.spark.start_limit import StartLimit
from kafka_edu.supervisor.cluster import Cluster, ClusterError
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.supervisor.cluster_spec import Wish

from ...lab_cluster import (
    LabCluster,
    answering,
    keep_before,
    read_before,
    topic_facts,
    wait_until,
)
from ...lab_program import LabProgram, set_setting
from ...runner.spark_learner import why_no_spark
from ...runner.topics import make_topic
from ...runner.verdict import Step
from .facts import Facts, Fall, Place, Result, brought, compared, is_calm, judge
from .material import PROGRESS, SETTINGS, TOPIC, plan, settings
from .query import CHECKPOINT, LOOK_EVERY_S, ROWS, Seen, files_of, rows_of
from .shop import BACKLOG, NOTES, QUERY_NOTES, RUSH, RUSH_ORDERS, Sold, orders_of

SHOP: Final = LabProgram(f"{__package__}.shop", NOTES)
QUERY: Final = LabProgram(f"{__package__}.query", QUERY_NOTES)
LAB: Final = LabCluster("16-18s", TOPIC)
PROPS: Final = {"auto.create.topics.enable": "false"}
FIRST_BATCH: Final = Allowance(processor_s=600.0, idle_s=120.0, clock_s=900.0)
"""The limits of the query until its first micro-batch is finished. A busy machine needs minutes."""
NOTHING: Final[Mapping[str, int]] = MappingProxyType({})
READ_MS: Final = 30_000
"""The longest wait of the reader for the next click."""
is_running = LAB.is_running


def begin(seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None) -> None:
    """Start the cluster, its shop and the query, and let the query fall behind. Raises
    ClusterError.

    The state in the trouble is saved in `folder`. All three run on when this process ends.
    """
    if why := why_no_spark():
        raise ClusterError(why)
    file = folder / SETTINGS
    file.write_text(settings(seed), encoding="utf-8")
    for name in (ROWS, CHECKPOINT):  # those of the trouble before
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / PROGRESS).unlink(missing_ok=True)
    say("starting a broker")
    with LAB.begun(Wish(brokers=1, props=PROPS), home) as cluster:
        make_topic(cluster, TOPIC, [0], plan(seed).partitions)
        say("the shop opens")
        SHOP.start(cluster.folder, cluster.bootstrap_servers, str(seed))
        wait_until(lambda: _written(cluster) >= BACKLOG, "the clicks of the night")
        say("Spark starts, and the query with it")
        words = (cluster.bootstrap_servers, str(file.absolute()))
        pid = QUERY.start(cluster.folder, *words)
        limit = StartLimit([pid], FIRST_BATCH)
        while not _has_begun(cluster):
            if limit.is_over():
                raise ClusterError("the query has no first micro-batch yet, and seems to hang")
            time.sleep(LOOK_EVERY_S)  # another process writes the notes
        keep_before(folder, seed, look(cluster, folder))


def shop_of(folder: ClusterFolder) -> Sold | None:
    """Return the shop's notes. None: it has not written any yet."""
    notes = SHOP.read(folder)
    return None if notes is None else Sold(**notes)


def query_of(folder: ClusterFolder) -> Seen | None:
    """Return the query's notes. None: it has not written any yet."""
    notes = QUERY.read(folder)
    return None if notes is None else Seen(**notes)


def _written(cluster: Cluster) -> int:
    seen = shop_of(cluster.folder)
    return seen.written if seen is not None else 0


def _has_begun(cluster: Cluster) -> bool:
    """Return whether a micro-batch is finished. Raises ClusterError if the query has failed."""
    seen = query_of(cluster.folder)
    if seen is not None and seen.complaint:
        raise ClusterError(seen.complaint)
    return seen is not None and seen.batch >= 0


def end(home: Path | None = None) -> bool:
    """End the cluster, its shop and the query. Return False if none was running. Raises
    ClusterError.
    """
    if LAB.is_running(home):
        folder = ClusterFolder.of(LAB.name, home)
        for program in (QUERY, SHOP):
            _end(program, folder)
    return LAB.end(home)


def _end(program: LabProgram, folder: ClusterFolder) -> None:
    """End a program, and wait until it is gone: it must not write into a folder that is removed."""
    notes = program.read(folder)
    program.end(folder)
    if notes is not None:
        wait_until(lambda: not program.is_it(notes["pid"]), "the end of a program")


def check_state(
    folder: Path, say: Callable[[str], None], home: Path | None = None
) -> Iterator[Step]:
    """Check the current state of cluster, shop and query, and yield each result. Raises
    ClusterError.
    """
    with closing(LAB.attach(home)) as cluster:
        _, kept = read_before(folder)
        before = facts_of(kept)
        if _rush_is_due(cluster):
            say(f"a rush hour: {RUSH:,} clicks come at once")
            rush(cluster)
        say("watching the micro-batches of the query")
        began, ended = watch(cluster)
        say("comparing the rows with the log")
        known = before.query.ends if before.query is not None else {}
        now = look(cluster, folder, known)._replace(watched=began)
        if ended is not None and now.query is not None:
            now = now._replace(query=ended)  # what was seen is judged
    yield from judge(before, now)


def _rush_is_due(cluster: Cluster) -> bool:
    """Return whether the query works, and so few clicks wait that the check needs more of them."""
    seen = query_of(cluster.folder)
    if seen is None or seen.complaint or not answering(cluster):
        return False
    return _written(cluster) - brought(seen) <= RUSH


def rush(cluster: Cluster) -> None:
    """Let the shop have a rush hour, and wait until its clicks are in the log."""
    wanted = orders_of(cluster.folder.path) + 1
    (cluster.folder.path / RUSH_ORDERS).write_text(f"{wanted}\n", encoding="utf-8")
    for now in SHOP.watched(lambda: shop_of(cluster.folder)):
        if now.rushes >= wanted:
            return


def watch(cluster: Cluster) -> tuple[Seen | None, Seen | None]:
    """Watch the query until it is calm, or its lag does not fall fast enough, or its program has
    ended or hangs. Return its first and its last notes.
    """
    began: Seen | None = None
    now: Seen | None = None
    for now in QUERY.watched(lambda: query_of(cluster.folder)):
        if began is None or began.run != now.run:
            began, fall = now, Fall(now)
        if now.complaint or is_calm(began, now) or fall.is_too_slow(now):
            break
    return began, now


def look(cluster: Cluster, folder: Path, known: Mapping[str, int] = NOTHING) -> Facts:
    """Collect the facts about the current state. `known` are offsets up to which the query has
    brought all clicks earlier, perhaps with a different checkpoint.

    The files are listed before the query's notes are read, so at most one of them is of a
    micro-batch that the notes do not know yet.
    """
    topic = LAB.in_zookeeper(cluster)
    files = files_of(folder)
    shop, query = shop_of(cluster.folder), query_of(cluster.folder)
    return Facts(
        cluster.status(hidden=True).broker(0).state,
        topic,
        shop.pid if shop is not None and SHOP.is_it(shop.pid) else 0,
        query,
        Result() if query is None else result_of(cluster, files, with_known(query, known)),
    )


def with_known(query: Seen, known: Mapping[str, int]) -> Seen:
    """Return the query's notes, with all clicks that it has ever brought."""
    return query._replace(
        ends={
            number: max(query.ends.get(number, 0), known.get(number, 0))
            for number in {**known, **query.ends}
        }
    )


def result_of(cluster: Cluster, files: Sequence[Path], query: Seen) -> Result:
    """Compare the rows of all finished micro-batches with the log."""
    log = log_of(answering(cluster), query.ends)
    try:
        return compared(log, rows_of(files, query.batch))
    except (OSError, ValueError, KeyError, TypeError):  # the learner has changed a file
        return Result(len(log), wrong=len(log))


def log_of(servers: Sequence[str], ends: dict[str, int]) -> dict[Place, str]:
    """Return the clicks in the log before these offsets. Empty if no broker answers.

    A topic that was made again may have fewer partitions. A missing partition has no clicks.
    """
    found: dict[Place, str] = {}
    if not servers or not ends:  # a query with a new checkpoint has read nothing yet
        return found
    with (
        suppress(KafkaError),
        closing(
            KafkaConsumer(
                bootstrap_servers=list(servers),
                group_id=None,
                consumer_timeout_ms=READ_MS,
            )
        ) as consumer,
    ):
        partitions = consumer.partitions_for_topic(TOPIC) or set()
        wanted = {
            TopicPartition(TOPIC, int(number)): end
            for number, end in ends.items()
            if int(number) in partitions
        }
        if not wanted:
            return found
        consumer.assign(list(wanted))
        there = consumer.end_offsets(list(wanted))
        consumer.seek_to_beginning()
        left = {one: min(end, there[one]) for one, end in wanted.items()}
        while any(consumer.position(one) < end for one, end in left.items()):
            came = consumer.poll(READ_MS)
            if not came:
                break
            for place, records in came.items():
                for record in records:
                    if record.offset < left[place]:
                        found[place.partition, record.offset] = record.value.decode()
    return found


def facts_of(fields: dict[str, Any]) -> Facts:
    """Return the Facts that were stored as JSON. `fields` is the decoded JSON object."""
    query = fields["query"]
    return Facts(
        fields["state"],
        topic_facts(fields["topic"]),
        fields["shop"],
        None if query is None else Seen(*query),
        Result(*fields["result"]),
    )


def perform(acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
    """Perform the acts of a script on the cluster and the query. Raises ClusterError.

    "set" changes a setting of the query. "partitions" gives the topic this number of partitions.
    "no-checkpoint" deletes the checkpoint, and "no-rows" the rows. "again" lets the query start
    again. "topic-again" deletes the topic and creates it again. "stop" stops the broker.
    "topic-config" changes a setting of the topic.
    """
    with closing(LAB.attach(home)) as cluster:
        for name, *values in acts:
            match name, values:
                case "set", [str(key), value]:
                    _set(cluster, key, str(value))
                case "again", []:
                    _set(cluster, "# again", f"{time.time()}")
                case "partitions", [int(count)]:
                    with Admin({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
                        admin.create_partitions({TOPIC: NewPartitions(count)}).all()
                case "no-checkpoint" | "no-rows", []:
                    seen = _notes(cluster)
                    gone = CHECKPOINT if name == "no-checkpoint" else ROWS
                    shutil.rmtree(Path(seen.file).parent / gone, ignore_errors=True)
                case "topic-again", []:
                    LAB.create_again(cluster, [0], {})
                case "stop", []:
                    cluster.stop(0)
                case "topic-config", [str(setting)]:
                    cluster.perform("topic-config", {"topic": TOPIC, "setting": setting})
                case _:
                    raise ValueError(f"there is no act {name!r} with {values}")


def _notes(cluster: Cluster) -> Seen:
    seen = query_of(cluster.folder)
    assert seen is not None
    return seen


def _set(cluster: Cluster, key: str, value: str) -> None:
    """Write a setting of the query, as an operator does with an editor, and wait until it is used
    or refused.
    """
    seen = _notes(cluster)
    set_setting(Path(seen.file), key, value)
    wait_until(lambda: _notes(cluster).read > seen.read, "the query's new settings")
