"""Start the cluster of exercise 09-8, let a topic fill a disk, check the cluster's state, and end
the cluster.

kafka-python writes the records, so that an independent client says which records are acked.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

from kafka import KafkaProducer

from kafka_edu.clients import blocking
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.instruments.recording import read_recordings
from kafka_edu.supervisor.cluster import Cluster
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.supervisor.cluster_spec import Wish
from kafka_edu.trace.events.log import LogCleaned, LogDeleted, SegmentDeleted

from ...lab_cluster import (
    READ_LIMIT_S,
    LabCluster,
    answering,
    keep_before,
    properties_of,
    read_before,
    restart,
    set_property,
    topic_facts,
    wait_until,
)
from ...runner.verdict import Step
from .facts import BOUND, SEGMENT, Facts, Replica, judge
from .material import BROKERS, KEPT, LIMIT, POLICY, QUOTA, TOPICS, Plan, plan

ID: Final = "09-8"
LABS: Final = {topic: LabCluster(ID, topic) for topic in TOPICS}
LAB: Final = LABS[TOPICS[0]]
QUOTA_KEY: Final = "edu.log.dir.quota.bytes"
PROPS: Final[Mapping[str, str]] = {
    "auto.leader.rebalance.enable": "false",
    "log.retention.check.interval.ms": "1000",
    "log.index.size.max.bytes": "65536",
}
RECORDING: Final = "recording.gz"
DISKS: Final = ("disk-1", "disk-2")
RECORD_BYTES: Final = 2_000
ORDERS, STEADY, MORE = 100, 350, 250
"""The numbers of records: of `orders`, of the steady topic, and of the growing topic afterwards.

MORE is above what retention leaves, so the small disk has no record that the leader still has. But
MORE is so small that `invoices` is the largest topic on every broker.
"""
SHOWN: Final = 24
"""The number of characters of each value that the facts contain."""
AT_ONCE: Final = 20
DELETE_LIMIT_MS: Final = 5_000
is_running = LAB.is_running
end = LAB.end


def wish_of(made: Plan, folder: ClusterFolder) -> Wish:
    """Return the cluster's description: each broker has two log dirs, and records its events."""
    own = {
        number: {
            "log.dirs": ",".join(str(folder.broker(number) / disk) for disk in DISKS),
            "edu.record.file": str(folder.broker(number) / RECORDING),
            "edu.record.gauges": "false",
        }
        for number in range(BROKERS)
    }
    own[made.small][QUOTA_KEY] = str(QUOTA)
    return Wish(brokers=BROKERS, props=PROPS, broker_props=own)


def settings_of(made: Plan, topic: str) -> Mapping[str, str]:
    """Return the settings of a topic."""
    settings = {
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "retention.bytes": "-1" if topic in KEPT else str(LIMIT),
        "segment.bytes": str(SEGMENT),
        "file.delete.delay.ms": "1000",
    }
    if topic == made.topic:
        settings[made.setting] = "compact" if made.setting == POLICY else "-1"
    return settings


def begin(seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None) -> None:
    """Start the cluster, fill its topics, and let one of them fill a disk. Raises ClusterError.

    The state with the trouble is saved in `folder`. The cluster outlives this process.
    """
    made = plan(seed)
    say("starting three brokers, each with two log dirs")
    with LAB.begun(wish_of(made, ClusterFolder.of(LAB.name, home)), home) as cluster:
        cluster.wait_ready()
        say(f"writing {made.invoices + ORDERS + STEADY:,} records into three topics")
        # A new replica goes to the dir with the fewest: invoices and the growing topic meet.
        amounts = {"invoices": made.invoices, "orders": ORDERS, made.topic: 1, made.steady: STEADY}
        for topic, count in amounts.items():
            LABS[topic].create_topic(cluster, made.replicas, settings_of(made, topic))
            _write(cluster, topic, 0, count)
        say("one topic grows, until a disk is full")
        written = _fill(cluster, made)
        _write(cluster, made.topic, written, MORE)
        say("waiting until retention has cut the other topic")
        for number in made.replicas:
            wait_until(partial(_is_small, cluster, made.steady, number), "the first retention")
        keep_before(folder, seed, look(cluster, made))


def _fill(cluster: Cluster, made: Plan) -> int:
    """Write into the growing topic until its replica on the small disk is offline.

    Return the number of records that the topic has then.
    """
    count = 1
    while made.small in LABS[made.topic].in_zookeeper(cluster).isr:
        _write(cluster, made.topic, count, AT_ONCE)
        count += AT_ONCE
    whole = (LABS[topic] for topic in (KEPT[0], made.topic))
    for lab in whole:
        wait_until(partial(_alone, cluster, lab, made.other), f"the full disk of {lab.topic}")
    return count


def _alone(cluster: Cluster, lab: LabCluster, broker: int) -> bool:
    return lab.in_zookeeper(cluster).isr == (broker,)


def _write(cluster: Cluster, topic: str, first: int, count: int) -> None:
    """Write records with keys that all differ. Each is acknowledged with acks=all."""
    with closing(
        KafkaProducer(bootstrap_servers=answering(cluster), acks="all", linger_ms=5, retries=100)
    ) as producer:
        sent = [
            producer.send(
                topic,
                f"{topic} {number} ".encode().ljust(RECORD_BYTES, b"."),
                key=str(number).encode(),
                partition=0,
            )
            for number in range(first, first + count)
        ]
        for one in sent:
            one.get(READ_LIMIT_S)


def check_state(
    folder: Path, say: Callable[[str], None], home: Path | None = None
) -> Iterator[Step]:
    """Check the cluster's current state. Yield each result. Raises ClusterError if it is not up."""
    with closing(LAB.attach(home)) as cluster:
        seed, before = read_before(folder)
        made = plan(seed)
        say("looking at brokers, log dirs, events and records")
        now = look(cluster, made)
    yield from judge(made, facts_of(before), now)


def facts_of(fields: dict[str, Any]) -> Facts:
    """Return the Facts that were stored as JSON. `fields` is the decoded JSON object."""
    states, pids, offline, properties, topics, replicas, records = fields.values()
    return Facts(
        tuple(states),
        tuple(pids),
        tuple(offline),
        tuple(properties),
        tuple(topic_facts(topic) for topic in topics),
        tuple(
            Replica(broker, size, tuple(bases), tuple(deleted), cleaned_to)
            for broker, size, bases, deleted, cleaned_to in replicas
        ),
        tuple(tuple(values) for values in records),
    )


def look(cluster: Cluster, made: Plan) -> Facts:
    """Collect the facts about the cluster's current state."""
    status = cluster.status(hidden=True)
    topics = tuple(LABS[topic].in_zookeeper(cluster) for topic in TOPICS)
    properties = [properties_of(cluster, number) for number in cluster.broker_ids]
    return Facts(
        tuple(status.broker(number).state for number in cluster.broker_ids),
        tuple(status.broker(number).pid for number in cluster.broker_ids),
        _offline(cluster),
        tuple(
            f"broker {number}: {one.get('log.dirs')}, {QUOTA_KEY}={one.get(QUOTA_KEY, '-1')}"
            for number, one in enumerate(properties)
        ),
        topics,
        tuple(_replica(cluster, made.topic, number) for number in made.replicas),
        tuple(
            tuple(value[:SHOWN] for value in LABS[topic].read_all(cluster)) if facts.created else ()
            for topic, facts in zip(TOPICS, topics, strict=True)
        ),
    )


def _offline(cluster: Cluster) -> tuple[str, ...]:
    """Return the log dirs that are offline. The running brokers report them (DescribeLogDirs)."""
    running = cluster.status().running_brokers
    if not running:
        return ()
    settings = {"bootstrap.servers": ",".join(answering(cluster)), "client.id": f"lab-{ID}"}
    with blocking.Admin(settings) as admin:
        answers = admin.describe_log_dirs(running).all()
    return tuple(
        f"{Path(path).name} of broker {number}: {found.error.name}"
        for number in running
        for path, found in answers[number].items()
        if found.error is not Errors.NONE
    )


def _replica(cluster: Cluster, topic: str, broker: int) -> Replica:
    """Return the facts about a replica, from its segments and its broker's recorded events."""
    files = [file for file in cluster.replica(broker, topic, 0).glob("*.log") if file.exists()]
    deleted: set[int] = set()
    cleaned_to = 0
    recordings = sorted(cluster.folder.broker(broker).glob("recording*.gz"))
    for envelope in read_recordings(recordings, lambda _: None):
        match envelope.event:
            case SegmentDeleted(topic=of, base_offset=base) if of == topic:
                deleted.add(base)
            case LogDeleted(topic=of) if of == topic:  # the topic is gone: another step says so
                cleaned_to = 1 << 62
            case LogCleaned(topic=of, to_offset=to) if of == topic:
                cleaned_to = max(cleaned_to, to)
    return Replica(
        broker,
        sum(file.stat().st_size for file in files),
        tuple(sorted(int(file.stem) for file in files)),
        tuple(sorted(deleted)),
        cleaned_to,
    )


def perform(acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
    """Perform the acts of a script on the cluster. Raises ClusterError.

    "set" changes a setting of a topic. "small" waits until a broker's replica of a topic is small
    enough. "restart" restarts a broker. "in-sync" waits until all replicas are in the ISR.
    "settled" also ends its wait when a log dir is offline again. "delete-records" deletes the
    records of a topic below an offset. "by-hand" stops a broker, removes its replica of a topic and
    starts it. "quota" gives a broker larger disks, and "topic-again" deletes a topic and creates it
    again.
    """
    with closing(LAB.attach(home)) as cluster:
        for name, *values in acts:
            match name, values:
                case "set", [str(topic), str(setting)]:
                    cluster.perform("topic-config", {"topic": topic, "setting": setting})
                case "small", [str(topic), int(broker)]:
                    wait_until(partial(_is_small, cluster, topic, broker), f"a small {topic}")
                case "restart", [int(broker)]:
                    restart(cluster, broker)
                case "in-sync", []:
                    wait_until(partial(_whole, cluster), "the whole ISR of all topics")
                case "settled", []:
                    wait_until(
                        lambda: _whole(cluster) or bool(_offline(cluster)),
                        "the whole ISR, or a log dir that is offline",
                    )
                case "delete-records", [str(topic), int(offset)]:
                    _delete_records(cluster, topic, offset)
                case "by-hand", [int(broker), str(topic)]:
                    cluster.stop(broker)
                    shutil.rmtree(cluster.replica(broker, topic, 0))
                    cluster.start(broker)
                case "quota", [int(broker), int(quota)]:
                    set_property(cluster, broker, QUOTA_KEY, str(quota))
                    restart(cluster, broker)
                case "topic-again", [str(topic), list(replicas), dict(settings)]:
                    LABS[topic].create_again(cluster, replicas, settings)
                case _:
                    raise ValueError(f"there is no act {name!r} with {values}")


def _is_small(cluster: Cluster, topic: str, broker: int) -> bool:
    files = cluster.replica(broker, topic, 0).glob("*.log")
    return sum(file.stat().st_size for file in files if file.exists()) <= BOUND


def _whole(cluster: Cluster) -> bool:
    """Return whether every replica of every topic is in the ISR."""
    topics = [lab.in_zookeeper(cluster) for lab in LABS.values()]
    return all({*one.isr} == {*one.replicas} for one in topics)


def _delete_records(cluster: Cluster, topic: str, offset: int) -> None:
    """Let the leader delete the records below an offset.

    The leader waits for every replica whose broker runs, even for a replica in an offline dir. So
    the answer is a time-out, but the leader has deleted the records.
    """
    with blocking.Admin({"bootstrap.servers": ",".join(answering(cluster))}) as admin:
        before = {TopicPartition(topic, 0): offset}
        deleted = admin.delete_records(before, timeout_ms=DELETE_LIMIT_MS)
    for error in deleted.errors.values():
        if error.error is not Errors.REQUEST_TIMED_OUT:
            raise error
