"""Start the cluster and billing program of exercise 14-6, cause the trouble, check and end both."""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

from kafka_edu.common.python_process import python_command, python_environment
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
from ...lab_program import LabProgram
from ...runner.topics import make_topic
from ...runner.verdict import Step
from .billing import NOTES, Read, Seen
from .facts import Facts, is_caught_up, is_complete, judge
from .material import (
    BROKERS,
    GROUP,
    MEMBERS,
    OTHER,
    PARTITIONS,
    PROPERTIES,
    RATE,
    REFUNDS,
    SETTINGS,
    TOPIC,
    Plan,
    plan,
)

PROPS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "2",
}
TOPIC_SETTINGS: Final = {"retention.ms": "-1"}
"""The orders are older than a week."""
FIRST_RECORDS: Final = 10
SENT: Final = 60 * RATE
"""The check waits for this number of new records. A working billing catches up much earlier. The
clock does not count, because on a busy machine the billing itself is slow.
"""
BILLING: Final = LabProgram(f"{__package__}.billing", NOTES)
LAB: Final = LabCluster("14-6", TOPIC)
is_running = LAB.is_running
ALL: Final = [TopicPartition(TOPIC, n) for n in range(PARTITIONS)] + [TopicPartition(OTHER, 0)]


def begin(seed: int, folder: Path, say: Callable[[str], None], home: Path | None = None) -> None:
    """Start the cluster and the billing program, which begins to read after the orders of the day.
    Raises ClusterError.

    The state in the trouble is saved in `folder`. Both run on when this process ends.
    """
    made = plan(seed)
    file = folder / SETTINGS
    file.write_text(PROPERTIES.format(members=MEMBERS), encoding="utf-8")
    say("starting two brokers")
    with LAB.begun(Wish(brokers=BROKERS, props=PROPS), home) as cluster:
        cluster.wait_ready()
        replicas = [0, 1]
        make_topic(cluster, TOPIC, replicas, PARTITIONS, TOPIC_SETTINGS)
        make_topic(cluster, OTHER, replicas, 1, TOPIC_SETTINGS)
        say("the orders of the day are billed")
        _fill(cluster, made)
        say("the shop opens again, and the billing reads on")
        words = (cluster.bootstrap_servers, str(file.absolute()), ",".join(map(str, made.open)))
        BILLING.start(ClusterFolder.of(LAB.name, home), *words)
        wait_until(lambda: _has_begun(cluster, made), "the first new orders")
        keep_before(folder, seed, look(cluster))


def _fill(cluster: Cluster, made: Plan) -> None:
    """Store the orders and refunds of the day, and commit that all are billed and paid."""
    servers = cluster.bootstrap_servers
    with closing(KafkaProducer(bootstrap_servers=servers, acks="all")) as producer:
        sent = [
            producer.send(TOPIC, f"order {n}".encode(), partition=partition, timestamp_ms=at_ms)
            for partition, stamps in enumerate(made.timestamps)
            for n, at_ms in enumerate(stamps)
        ]
        sent += [
            producer.send(OTHER, f"refund {n}".encode(), partition=0, timestamp_ms=made.time_ms + n)
            for n in range(-REFUNDS // 2, REFUNDS // 2)
        ]
        for one in sent:
            one.get()
    with closing(KafkaConsumer(bootstrap_servers=servers, group_id=GROUP)) as consumer:
        consumer.assign(ALL)
        ends = consumer.end_offsets(ALL)
        consumer.commit({tp: OffsetAndMetadata(end, "", -1) for tp, end in ends.items()})


def _has_begun(cluster: Cluster, made: Plan) -> bool:
    seen = billing_of(cluster.folder)
    names = [*(f"{TOPIC}-{n}" for n in made.open), f"{OTHER}-0"]
    return seen is not None and all(
        name in seen.read and seen.read[name].distinct >= FIRST_RECORDS for name in names
    )


def billing_of(folder: ClusterFolder) -> Seen | None:
    """Return the notes of the billing. None: it has not written any yet."""
    notes = BILLING.read(folder)
    return None if notes is None else _seen(notes.values())


def _seen(values: Any) -> Seen:
    pid, file, members, complaint, sent, read = values
    return Seen(
        pid, file, members, complaint, sent, {name: Read(*one) for name, one in read.items()}
    )


def end(home: Path | None = None) -> bool:
    """End the cluster and the billing. Return False if none was running. Raises ClusterError."""
    if LAB.is_running(home):
        BILLING.end(ClusterFolder.of(LAB.name, home))
    return LAB.end(home)


def check_state(
    folder: Path, say: Callable[[str], None], home: Path | None = None
) -> Iterator[Step]:
    """Check the current state of cluster and billing. Yield each result. Raises ClusterError."""
    with closing(LAB.attach(home)) as cluster:
        seed, before = read_before(folder)
        say("watching the billing until it has caught up")
        now = watch(cluster, facts_of(before))
    yield from judge(plan(seed), facts_of(before), now)


def watch(cluster: Cluster, before: Facts) -> Facts:
    """Wait until the billing program has read all orders from before the check, and new orders have
    come since `before`. Stop waiting after SENT orders, or if the program has ended or hangs.
    Return the facts.
    """
    began = now = look(cluster)
    for seen in BILLING.watched(lambda: billing_of(cluster.folder)):
        now = look(cluster)
        if is_complete(before, now._replace(ends=began.ends)):
            break
        if began.billing is None or seen.sent - began.billing.sent >= SENT:
            break
    return now._replace(ends=began.ends)


def facts_of(fields: dict[str, Any]) -> Facts:
    """Return the Facts that were stored as JSON. `fields` is the decoded JSON object."""
    states, topic, billing, committed, ends = fields.values()
    seen = None if billing is None else _seen(billing)
    return Facts(tuple(states), topic_facts(topic), seen, committed, ends)


def look(cluster: Cluster) -> Facts:
    """Collect the facts about the current state. The offsets are read before the notes, so the
    notes must already have each record that is committed.
    """
    status = cluster.status(hidden=True)
    committed, ends = _offsets(cluster)
    return Facts(
        tuple(status.broker(number).state for number in cluster.broker_ids),
        LAB.in_zookeeper(cluster),
        billing_of(cluster.folder),
        committed,
        ends,
    )


def _offsets(cluster: Cluster) -> tuple[dict[str, int], dict[str, int]]:
    """Return the group's offsets, and the ends of the logs. Both are empty if no broker answers."""
    servers = answering(cluster)
    if not servers:
        return {}, {}
    try:
        with closing(KafkaConsumer(bootstrap_servers=servers, group_id=GROUP)) as consumer:
            ends = consumer.end_offsets(ALL)
            committed = {tp: consumer.committed(tp) for tp in ALL}
    except KafkaError:
        return {}, {}
    return (
        {f"{tp.topic}-{tp.partition}": at for tp, at in committed.items() if at is not None},
        {f"{tp.topic}-{tp.partition}": at for tp, at in ends.items()},
    )


def perform(acts: Sequence[Sequence[object]], home: Path | None = None) -> None:
    """Perform the acts of a script on the cluster and the billing. Raises ClusterError.

    "members" changes the number of members. "reset" runs `consumer-groups --reset-offsets` for the
    group with these words. "refused" runs it too, but the tool must refuse to work. "caught-up"
    waits until the group has read all. "topic-again" deletes the orders' topic and creates it
    again.
    """
    with closing(LAB.attach(home)) as cluster:
        for name, *values in acts:
            match name, values:
                case "members", [int(count)]:
                    _members(cluster, count)
                case "reset" | "refused", words:
                    _reset(cluster, [str(word) for word in words], refused=name == "refused")
                case "caught-up", []:
                    wait_until(lambda: is_caught_up(look(cluster)), "the group")
                case "stop", [int(broker)]:
                    cluster.stop(broker)
                case "topic-again", []:
                    LAB.create_again(cluster, [0, 1], TOPIC_SETTINGS)
                case _:
                    raise ValueError(f"there is no act {name!r} with {values}")


def _members(cluster: Cluster, count: int) -> None:
    """Write the number of members into the settings file. Wait until the group has them."""
    seen = billing_of(cluster.folder)
    assert seen is not None
    Path(seen.file).write_text(PROPERTIES.format(members=count), encoding="utf-8")

    def is_done() -> bool:
        now = billing_of(cluster.folder)
        return now is not None and now.members == count

    wait_until(is_done, f"{count} members of the billing")


def _reset(cluster: Cluster, words: Sequence[str], *, refused: bool) -> None:
    """Reset the group's offsets by our tool, as an operator does. Raises ClusterError."""
    to_broker = ("--bootstrap-server", cluster.bootstrap_servers, "--group", GROUP)
    ran = subprocess.run(
        python_command(
            "kafka_edu", "consumer-groups", *to_broker, "--reset-offsets", *words, "--execute"
        ),
        env=python_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    said = ran.stdout + ran.stderr
    if refused is (f"\n{TOPIC} " in said):  # the table of the new offsets
        raise ClusterError(f"consumer-groups has said: {said[-500:]}")
