"""The live part of 13-1: the learner's class is the assignor `range` of the consumer that leads a
group. Two members of the group are unmodified clients.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, TypeGuard

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.events.consumer import ConsumerLedAssignment

from ..learner_consumer import LearnerConsumers, learner_consumers
from ..learner_program import NoAnswerError
from ..runner.manifest import Exercise
from ..runner.topics import make_topic
from ..runner.verdict import Step
from ..unmodified_consumer import UnmodifiedConsumer, unmodified_consumer
from .assignor_rules import Member, right_blocks
from .group_records import write_to_each

TOPICS: Final = {"lab-131": 7, "lab-131-more": 3}
EACH: Final = 20
"""How many records each partition gets."""
LEADER, STATIC = "leader", "static"
INSTANCE: Final = "the-first"


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` (the shipped code if it is None) in the leader of a group, and yield
    the result of each check.
    """
    say(f"starting three brokers, and consumers with {'yours' if file is not None else 'ours'}")
    with running_cluster(f"lab-{exercise.id}") as cluster, ExitStack() as stack:
        for topic, partitions in TOPICS.items():
            make_topic(cluster, topic, [0, 1, 2], partitions)
        try:
            consumers = stack.enter_context(learner_consumers(exercise.id, file, patience_s))
            group = Group(consumers, cluster, stack)
            yield group.comes()
            say("three more members join, two of them unmodified")
            group.grow()
            yield group.divided("four members have the blocks of the rule")
            say(f"each partition gets {EACH} records")
            yield group.reads_all()
            say("an unmodified member leaves")
            group.unmodified.pop().close()
            yield group.divided("three members have the blocks of the rule")
            if file is not None:
                yield consumers.judge_calls("the group was divided")
        except NoAnswerError as error:
            yield Step("the consumers do their work", False, str(error), late=True)


class Group:
    """The members of the live group."""

    def __init__(self, consumers: LearnerConsumers, cluster: Cluster, stack: ExitStack) -> None:
        self._consumers = consumers
        self._cluster = cluster
        self._stack = stack
        self.unmodified: list[UnmodifiedConsumer] = []
        self._config = {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "lab-131",
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 60_000,
        }

    def comes(self) -> Step:
        """Let the first member join. It leads the group, and gets all partitions."""
        self._consumers.open(LEADER, {**self._config, "client.id": LEADER}, list(TOPICS))
        return self.divided("the first member has all partitions")

    def grow(self) -> None:
        """Let a static member and two unmodified members join."""
        self._consumers.open(
            STATIC,
            {**self._config, "client.id": STATIC, "group.instance.id": INSTANCE},
            list(TOPICS),
        )
        range_config = {**self._config, "partition.assignment.strategy": "range"}
        for _ in range(2):
            one = self._stack.enter_context(unmodified_consumer(range_config, list(TOPICS)))
            self.unmodified.append(one)

    def _has(self) -> list[frozenset[TopicPartition]]:
        """Return the partitions of the first, the static, and the two unmodified members."""
        ours = [frozenset(one.partitions) for one in self._consumers.members().values()]
        return ours + sorted((one.partitions for one in self.unmodified), key=sorted)

    def _right(self) -> list[frozenset[TopicPartition]]:
        """Return the partitions that each member must have by the rule of `range`."""
        ours = self._consumers.members()
        ids = [one.member_id for one in ours.values()]
        led = list(filter(_is_led, self._consumers.listener.events()))
        known = [member for member, _ in led[-1].members] if led else []
        others = [one for one in known if one not in ids]
        members = [
            Member(one.member_id, INSTANCE if name == STATIC else None, tuple(TOPICS))
            for name, one in ours.items()
        ]
        right = _partitions([*members, *(Member(one, None, tuple(TOPICS)) for one in others)])
        return [right[one] for one in ids] + sorted((right[one] for one in others), key=sorted)

    def divided(self, says: str) -> Step:
        """Check that each member gets the blocks that the rule gives to it."""
        if self._consumers.wait_for(lambda: self._has() == self._right()):
            sizes = sorted(map(len, self._has()), reverse=True)
            return Step(says, True, f"partitions of each member: {', '.join(map(str, sizes))}")
        for has, right in zip(self._has(), self._right(), strict=False):
            if has != right:
                seen = f"a member has {_words(has)}; the rule says {_words(right)}"
                return Step(says, False, seen, late=True)
        return Step(says, False, "not all members have joined", late=True)

    def reads_all(self) -> Step:
        """Write to all partitions. Each record has to be read by exactly one member."""
        says = "each record is read by exactly one of the four"
        wanted = write_to_each(self._cluster, TOPICS, EACH)
        read: Counter[tuple[TopicPartition, int]] = Counter()

        def all_read() -> bool:
            read.update((one.partition, one.offset) for one in self._consumers.read())
            for one in self.unmodified:
                came, one.read = one.read, []
                read.update(came)
            return read.keys() >= wanted

        came = self._consumers.wait_for(all_read)
        if not came:
            missing = len(wanted - read.keys())
            return Step(says, False, f"{missing} of {len(wanted)} records were not read", late=True)
        twice = sum(count > 1 for count in read.values())
        return Step(says, not twice, f"{len(wanted)} records, {twice} of them twice")


def _is_led(event: object) -> TypeGuard[ConsumerLedAssignment]:
    return isinstance(event, ConsumerLedAssignment)


def _partitions(members: Sequence[Member]) -> dict[str, frozenset[TopicPartition]]:
    """Return the partitions that the rule gives to each member."""
    found: dict[str, set[TopicPartition]] = {one.name: set() for one in members}
    for member, topic, first, count in right_blocks(TOPICS, members):
        found[member] |= {TopicPartition(topic, n) for n in range(first, first + count)}
    return {member: frozenset(partitions) for member, partitions in found.items()}


def _words(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(map(str, sorted(partitions))) or "nothing"
