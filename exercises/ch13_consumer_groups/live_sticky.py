"""The live part of 13-2: the learner's class is the assignor `sticky` of a group of our consumers.
One consumer leaves, and a new consumer joins.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.supervisor.cluster import running_cluster

from ..learner_consumer import LearnerConsumers, learner_consumers
from ..learner_program import NoAnswerError
from ..runner.manifest import Exercise
from ..runner.topics import make_topic
from ..runner.verdict import Step

TOPICS: Final = {"lab-132": 8, "lab-132-more": 3}
ALL: Final = frozenset(
    TopicPartition(topic, number) for topic, count in TOPICS.items() for number in range(count)
)
Has = Mapping[str, frozenset[TopicPartition]]


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` (the shipped code if it is None) in a group, and yield the result of
    each check.
    """
    say(f"starting three brokers, and consumers with {'yours' if file is not None else 'ours'}")
    with running_cluster(f"lab-{exercise.id}") as cluster:
        for topic, partitions in TOPICS.items():
            make_topic(cluster, topic, [0, 1, 2], partitions)
        try:
            with learner_consumers(exercise.id, file, patience_s) as consumers:
                group = Group(consumers, cluster.bootstrap_servers)
                for name in ("one", "two", "three", "four"):
                    group.open(name)
                yield group.settles("four members have nearly equal shares", most_moved=len(ALL))
                say("one of them leaves")
                had = len(group.has["three"])
                consumers.close("three")
                yield group.settles("the others keep all they had", most_moved=had)
                say("another one comes")
                group.open("five")
                yield group.settles("only the share of the newcomer moves", most_moved=3)
                if file is not None:
                    yield consumers.judge_calls("the group was divided")
        except NoAnswerError as error:
            yield Step("the consumers do their work", False, str(error), late=True)


class Group:
    """The members of the live group, and their partitions after the last rebalance."""

    def __init__(self, consumers: LearnerConsumers, servers: str) -> None:
        self._consumers = consumers
        self._config = {
            "bootstrap.servers": servers,
            "group.id": "lab-132",
            "partition.assignment.strategy": "sticky",
            "session.timeout.ms": 60_000,
        }
        self.has: Has = {}

    def open(self, name: str) -> None:
        """Let another consumer join."""
        self._consumers.open(name, {**self._config, "client.id": name}, list(TOPICS))

    def _now(self) -> Has:
        members = self._consumers.members()
        if len({one.generation for one in members.values()}) > 1:
            return {}  # in the middle of a rebalance
        return {name: frozenset(one.partitions) for name, one in members.items()}

    def settles(self, says: str, most_moved: int) -> Step:
        """Wait until each partition has one member. Check the sizes of the shares and the moves."""
        before, now = self.has, self._now()

        def settled() -> bool:
            nonlocal now
            now = self._now()
            owners = Counter(tp for has in now.values() for tp in has)
            return {*owners} == ALL and max(owners.values()) == 1 and now != before

        if not self._consumers.wait_for(settled):
            seen = ", ".join(f"{name}: {len(has)}" for name, has in now.items())
            return Step(says, False, f"the partitions of each: {seen}", late=True)
        self.has = now
        old = {tp: name for name, has in before.items() for tp in has}
        moved = sum(old.get(tp) not in (None, name) for name, has in now.items() for tp in has)
        sizes = sorted((len(has) for has in now.values()), reverse=True)
        seen = f"{', '.join(map(str, sizes))} partitions; {moved} have moved"
        return Step(says, sizes[0] - sizes[-1] <= 1 and moved <= most_moved, seen)
