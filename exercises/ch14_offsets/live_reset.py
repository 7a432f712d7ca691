"""The live part of 14-2: the learner's class decides where three consumers read, one for each
auto.offset.reset.

The log has lost its first records, a group has committed an offset that is gone, the program seeks
to times, and in the end the log is truncated by an unclean election.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

from kafka_edu.clients.consumer.subscription_state import FetchState
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.events.consumer import FetchStateChanged

from ..learner_program import NoAnswerError
from ..learner_reader import Reader, State, reader
from ..runner.manifest import Exercise
from ..runner.topics import make_topic
from ..runner.verdict import Step
from .reset_rules import EARLIEST, LATEST, NONE, POLICIES

TOPIC: Final = "lab-142"
GROUP: Final = "lab-142-readers"
PLAIN, GONE, COMMITTED, CUT = range(4)
"""The partitions: no commit, a commit whose record is deleted, a valid commit, a truncated log."""
COMMITS: Final = {GONE: 2, COMMITTED: 12, CUT: 6}
START, END = 5, 20
"""The first offset of each log, and the last record's offset plus 1."""
UNSAFE: Final = 5
"""The records that only the leader has when it is killed."""
BEGIN_MS: Final = 1_700_000_000_000
"""The time of the record with offset 0. Each record is one second later than the one before it."""
LEADER, FOLLOWER = 1, 0
PROPS: Final = {
    "zookeeper.session.timeout.ms": "6000",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "2",
}
Found = tuple[int, str]
"""The offset and the value of a record."""


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` (the shipped code if it is None) in three consumers, and yield the
    result of each check.
    """
    say(f"starting two brokers, and three consumers with {'yours' if file is not None else 'ours'}")
    with running_cluster(f"lab-{exercise.id}", brokers=2, props=PROPS) as cluster:
        _prepare(cluster)
        try:
            with ExitStack() as stack:
                readers = {
                    policy: stack.enter_context(
                        reader(exercise.id, file, _config(cluster, policy), patience_s)
                    )
                    for policy in POLICIES
                }
                yield _committed(readers, say)
                yield _reset(cluster, readers, PLAIN, "no committed offset", say)
                yield _reset(cluster, readers, GONE, "an offset that is gone", say)
                yield _time(readers[NONE], say)
                yield _after_the_last(cluster, readers[NONE], say)
                yield from _truncate(cluster, readers, say)
                if file is not None:
                    yield readers[EARLIEST].judge_calls("it has decided where to read")
        except NoAnswerError as error:
            yield Step("each consumer reads on", False, str(error), late=True)


def _config(cluster: Cluster, policy: str) -> dict[str, object]:
    return {
        "bootstrap.servers": cluster.bootstrap_servers,
        "group.id": GROUP,
        "enable.auto.commit": False,
        "auto.offset.reset": policy,
        "metadata.max.age.ms": 1_000,
    }


def _prepare(cluster: Cluster) -> None:
    """Make the topic, delete the first records of each partition, and commit three offsets."""
    configs = {"unclean.leader.election.enable": "true"}
    make_topic(cluster, TOPIC, [LEADER, FOLLOWER], 4, configs)
    for partition in range(4):
        _send(cluster, partition, range(END))
    servers = cluster.bootstrap_servers
    partitions = [TopicPartition(TOPIC, partition) for partition in range(4)]
    with closing(KafkaAdminClient(bootstrap_servers=servers)) as admin:
        admin.delete_records(dict.fromkeys(partitions, START))
    with closing(KafkaConsumer(bootstrap_servers=servers, group_id=GROUP)) as consumer:
        consumer.assign(partitions)
        consumer.commit({partitions[n]: OffsetAndMetadata(at, "", -1) for n, at in COMMITS.items()})


def _send(
    cluster: Cluster,
    partition: int,
    numbers: Sequence[int],
    name: str = "",
    acks: int | str = "all",
) -> None:
    """Send records with these numbers, one a second by their timestamps."""
    servers = cluster.bootstrap_servers
    with closing(KafkaProducer(bootstrap_servers=servers, acks=acks)) as producer:
        for number in numbers:
            producer.send(
                TOPIC,
                f"{name}{number}".encode(),
                partition=partition,
                timestamp_ms=BEGIN_MS + 1_000 * number,
            ).get()


def _found(state: State, partition: int) -> list[Found]:
    return [(offset, value) for _, n, offset, value in state.polled if n == partition]


def _read(
    says: str, one: Reader, partition: int, expected: Sequence[Found], name: str
) -> Step | None:
    """Wait until a consumer has read the expected number of records. Return None if the records are
    right.
    """
    late = f"{says}: {name} has not read {len(expected)} records"
    state = one.wait_for(lambda now: len(_found(now, partition)) >= len(expected), late)
    found = _found(state, partition)
    if found == expected:
        return None
    begins = f"{found[0][0]} to {found[-1][0]}"
    return Step(says, False, f"{name} has read {begins}; it should begin at {expected[0][0]}")


def _numbers(numbers: Sequence[int]) -> list[Found]:
    return [(number, f"{number}") for number in numbers]


def _fails(one: Reader, partition: int, error: str) -> None:
    """Wait for an error of `poll()`. Raises NoAnswerError."""
    late = f"poll() has raised no {error} for partition {partition}"
    one.wait_for(
        lambda now: any(
            text.startswith(error) and f"{TOPIC}-{partition}" in text for text in now.errors
        ),
        late,
    )


def _positions(one: Reader, partition: int) -> int:
    """Return how many times the consumer set its position in a partition."""
    return sum(
        isinstance(event, FetchStateChanged)
        and event.partition == partition
        and event.after == FetchState.FETCHING
        for event in one.listener.events()
    )


def _committed(readers: Mapping[str, Reader], say: Callable[[str], None]) -> Step:
    """Let all consumers begin at a committed offset."""
    says = "a committed offset counts, with every policy"
    say("a group has committed an offset, and all three consumers begin there")
    for policy, one in readers.items():
        one.assign(TOPIC, [COMMITTED])
        wrong = _read(says, one, COMMITTED, _numbers(range(COMMITS[COMMITTED], END)), policy)
        if wrong is not None:
            return wrong
    return Step(says, True, f"each has read {COMMITS[COMMITTED]} to {END - 1}")


def _reset(
    cluster: Cluster,
    readers: Mapping[str, Reader],
    partition: int,
    case: str,
    say: Callable[[str], None],
) -> Step:
    """Let all consumers begin in a partition where auto.offset.reset has to decide."""
    says = f"{case}: earliest, latest and none have their effects"
    say(f"{case}: the policies decide")
    before = _positions(readers[LATEST], partition)
    for one in readers.values():
        one.forget()
        one.assign(TOPIC, [partition])
    latest = readers[LATEST]
    # With a committed offset, the consumer first has that one as its position.
    wanted = before + (2 if partition in COMMITS else 1)
    if not latest.listener.wait_for(
        lambda: _positions(latest, partition) >= wanted, latest.patience_s
    ):
        return Step(says, False, "latest has got no position", late=True)
    wrong = _read(says, readers[EARLIEST], partition, _numbers(range(START, END)), EARLIEST)
    if wrong is not None:
        return wrong
    _send(cluster, partition, [END])
    wrong = _read(says, latest, partition, _numbers([END]), LATEST)
    if wrong is not None:
        return wrong
    error = "OffsetOutOfRangeException" if partition in COMMITS else "NoOffsetForPartitionException"
    _fails(readers[NONE], partition, error)
    return Step(says, True, f"{START} on, {END} on, and an error")


def _time(one: Reader, say: Callable[[str], None]) -> Step:
    """Let the consumer with the policy `none` seek to a time between two records."""
    says = "a time leads to the first record that is not older"
    say("the program seeks to a time between two records")
    one.forget()
    one.seek(TOPIC, GONE, BEGIN_MS + 8_500)
    wrong = _read(says, one, GONE, _numbers(range(9, END + 1)), NONE)
    return wrong if wrong is not None else Step(says, True, "9 on")


def _after_the_last(cluster: Cluster, one: Reader, say: Callable[[str], None]) -> Step:
    """Let the program seek to a time after the last record."""
    says = "a time after the last record leads to the end of the log"
    say("the program seeks to a time after the last record")
    one.forget()
    before = _positions(one, GONE)
    one.seek(TOPIC, GONE, BEGIN_MS + 60_000)
    if not one.listener.wait_for(lambda: _positions(one, GONE) > before, one.patience_s):
        return Step(says, False, "the consumer has got no position", late=True)
    _send(cluster, GONE, [END + 1])
    wrong = _read(says, one, GONE, _numbers([END + 1]), NONE)
    return wrong if wrong is not None else Step(says, True, f"{END + 1} on")


def _truncate(
    cluster: Cluster, readers: Mapping[str, Reader], say: Callable[[str], None]
) -> Iterator[Step]:
    """Let the consumers read records that only the leader has, and kill the leader."""
    says = "after a truncation, earliest and latest read what was never read, and none fails"
    say(f"broker {FOLLOWER} stops, and {UNSAFE} records are read that only the leader has")
    for one in readers.values():
        one.forget()
    cluster.stop(FOLLOWER)
    _send(cluster, CUT, range(END, END + UNSAFE), acks=1)
    for policy, one in readers.items():
        one.assign(TOPIC, [CUT])
        expected = _numbers(range(COMMITS[CUT], END + UNSAFE))
        wrong = _read(says, one, CUT, expected, policy)
        if wrong is not None:
            yield wrong
            return
        one.forget()
    say(f"broker {LEADER} is killed, and broker {FOLLOWER} becomes leader without these records")
    cluster.kill(LEADER)
    cluster.start(FOLLOWER)
    _send(cluster, CUT, range(2), "new ", acks=1)
    new = [(END, "new 0"), (END + 1, "new 1")]
    for policy in (EARLIEST, LATEST):
        wrong = _read(says, readers[policy], CUT, new, policy)
        if wrong is not None:
            yield wrong
            return
    _fails(readers[NONE], CUT, "LogTruncationException")
    yield Step(says, True, f"{END} on again, with other records, and an error")
