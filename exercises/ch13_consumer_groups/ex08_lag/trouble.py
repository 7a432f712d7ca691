"""Start exercise 13-8's cluster and office (orders and workers), check both, and end both."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import NewPartitions
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from kafka_edu.supervisor.cluster import Cluster
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
from ...runner.topics import make_topic
from ...runner.verdict import Step
from .facts import Facts, is_calm, judge
from .material import BROKERS, GROUP, POLL, RATE, SETTINGS, TOPIC, plan, settings
from .office import NOTES, Seen

ORDERS: Final = 50 * RATE
"""The check watches the lag for at most this number of orders. A good group is calm earlier."""
SOME_ORDERS: Final = 5 * RATE
"""The smallest number of orders for which it watches the lag."""
HANDLED: Final = 100
REFUSED: Final = 2
OFFICE: Final = LabProgram(f"{__package__}.office", NOTES)
LAB: Final = LabCluster("13-8", TOPIC)
is_running = LAB.is_running


def begin(seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None) -> None:
    """Start the cluster and its office, and let the lag grow. Raises ClusterError.

    The state in the trouble is saved in `folder`. Both run on when this process ends.
    """
    made = plan(seed)
    file = folder / SETTINGS
    file.write_text(settings(seed), encoding="utf-8")
    say("starting three brokers")
    with LAB.begun(Wish(brokers=BROKERS), home) as cluster:
        make_topic(cluster, TOPIC, [0, 1, 2], made.partitions)
        say("the office opens, with the orders of the night")
        open_office(cluster, file, home)

        def has_begun() -> bool:
            seen = office_of(cluster.folder)
            if seen is None or seen.handled < HANDLED:
                return False
            return made.cause != POLL or seen.refused >= REFUSED

        wait_until(has_begun, "the work of the office")
        keep_before(folder, seed, look(cluster))


def open_office(cluster: Cluster, file: Path, home: Path | None) -> None:
    """Start the office as a process of its own. It ends when the cluster's supervisor ends."""
    words = (cluster.bootstrap_servers, str(file.absolute()))
    OFFICE.start(ClusterFolder.of(LAB.name, home), *words)


def office_of(folder: ClusterFolder) -> Seen | None:
    """Return the office's notes. None: it has not written any yet."""
    notes = OFFICE.read(folder)
    return None if notes is None else Seen(**notes)


def end(home: Path | None = None) -> bool:
    """End the cluster and its office. Return False if none was running. Raises ClusterError."""
    if LAB.is_running(home):
        OFFICE.end(ClusterFolder.of(LAB.name, home))
    return LAB.end(home)


def check_state(
    folder: Path, say: Callable[[str], None], home: Path | None = None
) -> Iterator[Step]:
    """Check the current state of cluster and office. Yield each result. Raises ClusterError."""
    with closing(LAB.attach(home)) as cluster:
        _, before = read_before(folder)
        say(f"watching the lag, for {ORDERS:,} orders at most")
        watched = watch(cluster)
        say("looking at brokers, ZooKeeper, the office and its group")
        now = look(cluster)._replace(watched=watched.began, lag_before=watched.lag_before)
        if watched.ended is not None:  # what was seen is judged: a moment later the lag has grown
            now = now._replace(office=watched.ended, lag=watched.lag)
    yield from judge(facts_of(before), now)


class Watched(NamedTuple):
    """The office's notes and the group's lag at the beginning and at the end of a check."""

    began: Seen | None
    """The notes from when the check began, or from when the current workers came."""
    lag_before: int
    ended: Seen | None
    lag: int


def watch(cluster: Cluster) -> Watched:
    """Watch until the lag is calm, or ORDERS orders have come, or the office has ended or hangs."""
    began: Seen | None = None
    now: Seen | None = None
    lag_before = lag = 0
    for now in OFFICE.watched(lambda: office_of(cluster.folder)):
        if began is None or began.shift != now.shift:
            began, lag_before = now, lag_of(cluster)
            lag = lag_before
        come = now.written - began.written
        if come >= SOME_ORDERS:
            lag = lag_of(cluster)
            if come >= ORDERS or is_calm(began, now, lag_before, lag):
                break
    return Watched(began, lag_before, now, lag)


def lag_of(cluster: Cluster) -> int:
    """Return how many records of the topic the group has not committed; 0 if no broker answers."""
    servers = answering(cluster)
    if not servers:
        return 0
    lag = 0
    try:
        with closing(_member(servers)) as consumer:
            places = _places(consumer)
            for place, end in consumer.end_offsets(places).items():
                lag += end - (consumer.committed(place) or 0)
    except KafkaError:
        return 0
    return lag


def _member(servers: Sequence[str] | str) -> KafkaConsumer:
    """Return a consumer that may ask for the group's offsets, and never joins it."""
    return KafkaConsumer(bootstrap_servers=servers, group_id=GROUP, enable_auto_commit=False)


def _places(consumer: KafkaConsumer) -> list[TopicPartition]:
    numbers = consumer.partitions_for_topic(TOPIC) or set()
    return [TopicPartition(TOPIC, number) for number in sorted(numbers)]


def look(cluster: Cluster) -> Facts:
    """Collect the facts about the current state."""
    status = cluster.status(hidden=True)
    return Facts(
        tuple(status.broker(number).state for number in cluster.broker_ids),
        LAB.in_zookeeper(cluster),
        office_of(cluster.folder),
        lag_of(cluster),
    )


def facts_of(fields: dict[str, Any]) -> Facts:
    """Return the Facts that were stored as JSON. `fields` is the decoded JSON object."""
    office = fields["office"]
    return Facts(
        tuple(fields["states"]),
        topic_facts(fields["topic"]),
        None if office is None else Seen(*office),
        fields["lag"],
    )


def perform(acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
    """Perform the acts of a script on the cluster and the office. Raises ClusterError.

    "set" changes a setting of the workers. "partitions" gives the topic this number of partitions.
    "to-the-end" commits the end of each partition while no worker is there. "stop" stops a broker,
    and "topic-config" changes a setting of the topic.
    """
    with closing(LAB.attach(home)) as cluster:
        for name, *values in acts:
            match name, values:
                case "set", [str(key), value]:
                    _set(cluster, key, str(value))
                case "partitions", [int(count)]:
                    with closing(
                        KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
                    ) as admin:
                        admin.create_partitions({TOPIC: NewPartitions(count)})
                case "to-the-end", []:
                    _to_the_end(cluster)
                case "stop", [int(broker)]:
                    cluster.stop(broker)
                case "topic-config", [str(setting)]:
                    cluster.perform("topic-config", {"topic": TOPIC, "setting": setting})
                case _:
                    raise ValueError(f"there is no act {name!r} with {values}")


def _to_the_end(cluster: Cluster) -> None:
    """Commit the ends of all partitions, as a tool does with a group that has no members."""
    with closing(_member(cluster.bootstrap_servers)) as consumer:
        places = _places(consumer)
        consumer.assign(places)
        ends = consumer.end_offsets(places)
        consumer.commit({one: OffsetAndMetadata(end, "", -1) for one, end in ends.items()})


def _set(cluster: Cluster, key: str, value: str) -> None:
    """Write a setting of the workers, as an operator does with an editor, and wait until it is used
    or refused.
    """
    seen = office_of(cluster.folder)
    assert seen is not None
    set_setting(Path(seen.file), key, value)
    wait_until(lambda: _has_read(cluster, seen.shift), "the office's new settings")


def _has_read(cluster: Cluster, shift: int) -> bool:
    seen = office_of(cluster.folder)
    return seen is not None and (seen.shift > shift or bool(seen.complaint))
