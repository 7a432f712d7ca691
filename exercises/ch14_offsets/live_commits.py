"""The live part of 14-1: the learner's class decides what two consumers of a group commit.

Workers finish records in a different order than they came. A second member joins, and is killed.
After each step the group's offsets are read from the broker by an unmodified client.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from kafka_edu.supervisor.cluster import Cluster, running_cluster

from ..learner_program import NoAnswerError
from ..learner_reader import COMMIT_INTERVAL_MS, Reader, State, reader
from ..runner.manifest import Exercise
from ..runner.topics import make_topic
from ..runner.verdict import Step

TOPIC: Final = "lab-141"
GROUP: Final = "lab-141-readers"
PARTITIONS: Final = 4
EACH: Final = 20
"""How many records each partition has."""
PROPS: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
}
Records = set[tuple[int, int]]
"""(partition, offset) of some records."""
Offsets = dict[int, int]


class Group:
    """The records of the topic, as the live part knows them."""

    def __init__(self, cluster: Cluster) -> None:
        self._servers = cluster.bootstrap_servers
        self.done: Records = set()
        """The finished records that the current owners of the partitions know of."""
        self.ever_done: Records = set()
        self.now_ms = 0

    def finish(self, member: Reader, records: Iterable[tuple[int, int]]) -> None:
        """Let a member's workers finish these records, in this order."""
        chosen = list(records)
        member.finish([(TOPIC, partition, offset) for partition, offset in chosen])
        self.done.update(chosen)
        self.ever_done.update(chosen)

    def taken(self, offsets: Mapping[int, int]) -> Records:
        """Note that new owners of the partitions begin at these offsets. Return the records that
        they read again.
        """
        self.done = {(n, offset) for n, at in offsets.items() for offset in range(at)}
        return {(n, offset) for n, at in offsets.items() for offset in range(at, EACH)}

    def commit(self, member: Reader) -> None:
        """Let a member commit between two polls."""
        member.commit(self.now_ms)
        self.now_ms += COMMIT_INTERVAL_MS
        member.commit(self.now_ms)

    def expected(self) -> Offsets:
        """Return the right offset of each partition: that of its first unfinished record."""
        return {
            partition: next(n for n in range(EACH + 1) if (partition, n) not in self.done)
            for partition in range(PARTITIONS)
        }

    def committed(self) -> Offsets:
        """Return the group's offsets that the broker has stored; 0 for a partition without one."""
        with closing(KafkaConsumer(bootstrap_servers=self._servers, group_id=GROUP)) as asking:
            return {n: asking.committed(TopicPartition(TOPIC, n)) or 0 for n in range(PARTITIONS)}

    def judge(self, says: str, expected: Mapping[int, int]) -> Step:
        """Compare the group's offsets with these."""
        found = self.committed()
        for partition, right in expected.items():
            at = found[partition]
            if at != right:
                kind = (
                    f"records {right} to {at - 1} may be lost: {right} is not done"
                    if at > right
                    else f"records {at} to {right - 1} are done, and would come again"
                )
                return Step(says, False, f"partition {partition}: {at}, and not {right}: {kind}")
        return Step(says, True, ", ".join(f"{n}: {at}" for n, at in sorted(found.items())))


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` (the shipped code if it is None) in two consumers, and yield the
    result of each check.
    """
    say(f"starting a broker, and a consumer with {'yours' if file is not None else 'ours'}")
    with running_cluster(f"lab-{exercise.id}", brokers=1, props=PROPS) as cluster:
        make_topic(cluster, TOPIC, [0], PARTITIONS)
        _fill(cluster)
        config = {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": GROUP,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "max.poll.interval.ms": 600_000,
            "session.timeout.ms": 30_000,
        }
        group = Group(cluster)
        try:
            with reader(exercise.id, file, config, patience_s) as first:
                yield _out_of_order(group, first, say)
                second_config = config | {"session.timeout.ms": 6_000}
                with reader(exercise.id, file, second_config, patience_s) as second:
                    yield from _rebalance(group, first, second, say)
                    yield from _kill(group, first, second, say)
                yield _all(group, first, say)
                if file is not None:
                    yield first.judge_calls("offsets were committed")
        except NoAnswerError as error:
            yield Step("the group reads on", False, str(error), late=True)


def _fill(cluster: Cluster) -> None:
    with closing(KafkaProducer(bootstrap_servers=cluster.bootstrap_servers)) as producer:
        for number in range(EACH):
            for partition in range(PARTITIONS):
                producer.send(TOPIC, b"record %d" % number, partition=partition)
        producer.flush()


def _polled(state: State) -> Records:
    return {(partition, offset) for _, partition, offset, _ in state.polled}


def _wait_for(member: Reader, records: Records) -> Records:
    """Wait until poll() has returned these records. Return all that it has returned."""
    late = "records do not come again"
    return _polled(member.wait_for(lambda state: _polled(state) >= records, late))


def _partitions(state: State) -> set[int]:
    return {partition for _, partition in state.assigned}


def _out_of_order(group: Group, first: Reader, say: Callable[[str], None]) -> Step:
    """Let the first member read all records. Its workers finish all but one in each partition."""
    say("a member reads all records. Its workers leave one record of each partition")
    first.subscribe(TOPIC)
    first.wait_for(lambda s: len(s.polled) == PARTITIONS * EACH, "the member has not read all")
    for partition in range(PARTITIONS):
        ended = [n for n in range(12) if n != 5 + partition]
        group.finish(first, [(partition, n) for n in reversed(ended)])
    group.commit(first)
    says = "what is committed is the first record that is not done"
    return group.judge(says, group.expected())


def _rebalance(
    group: Group, first: Reader, second: Reader, say: Callable[[str], None]
) -> Iterator[Step]:
    """Let a second member join, after records were finished since the last commit."""
    say("workers end more records, and before the next commit a second member joins")
    for partition in range(PARTITIONS):
        group.finish(first, [(partition, 13), (partition, 5 + partition)])
    first.forget()
    expected = group.expected()
    second.subscribe(TOPIC)
    late = "the second member has not got its partitions"
    theirs = _partitions(second.wait_for(lambda s: len(s.assigned) == PARTITIONS // 2, late))
    yield group.judge("the rebalance commits what has ended since", expected)
    says = "both members begin at the first record that is not done"
    again = group.taken(expected)
    for member in (second, first):
        mine = {one for one in again if (one[0] in theirs) == (member is second)}
        found = _wait_for(member, mine)
        if found != mine:
            partition, offset = min(found - mine)
            yield Step(says, False, f"partition {partition}: record {offset} came again")
            return
    yield Step(says, True, f"{len(again)} records came again, none that was before the offsets")


def _kill(
    group: Group, first: Reader, second: Reader, say: Callable[[str], None]
) -> Iterator[Step]:
    """Let the second member finish some records before a commit and some after it. Then kill it."""
    say("the second member commits, works on, and ends by kill -9")
    theirs = sorted(_partitions(second.state()))
    for partition in theirs:
        group.finish(second, [(partition, n) for n in (15, 12, 14)])
    group.commit(second)
    expected = group.expected()
    for partition in theirs:
        group.finish(second, [(partition, n) for n in (16, 17)])
    group.finish(first, [(n, 12) for n in range(PARTITIONS) if n not in theirs])
    expected |= {n: at for n, at in group.expected().items() if n not in theirs}
    first.forget()
    second.kill()
    late = "the first member has not got the partitions back"
    first.wait_for(lambda s: len(s.assigned) == PARTITIONS, late)
    yield group.judge("after kill -9 the offsets are those of the last commit", expected)
    again = group.taken(expected)
    found = _wait_for(first, again)
    twice = len(again & group.ever_done)
    says = "the records without a commit come again, and no others"
    yield Step(says, found == again, f"{len(found)} records, {twice} of them were done already")


def _all(group: Group, first: Reader, say: Callable[[str], None]) -> Step:
    """Let all records end."""
    say("workers end all that is left")
    group.finish(first, sorted(_polled(first.state()), reverse=True))
    group.commit(first)
    whole = dict.fromkeys(range(PARTITIONS), EACH)
    lost = PARTITIONS * EACH - len(group.ever_done)
    says = "each record was done, and all are committed"
    step = group.judge(says, whole)
    return step if not lost else Step(says, False, f"{lost} records were never done")
