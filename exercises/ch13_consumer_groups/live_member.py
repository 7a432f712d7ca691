"""The live part of 13-4: the learner's class is the state machine of our consumers in a group. A
member that sends no heartbeats is soon removed, because the session time-out is short.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kafka_edu.supervisor.cluster import running_cluster
from kafka_edu.trace.events.consumer import ConsumerCommitted

from ..learner_consumer import LearnerConsumers, learner_consumers
from ..learner_program import NoAnswerError
from ..runner.manifest import Exercise
from ..runner.topics import make_topic
from ..runner.verdict import Step
from .group_records import write_to_each

TOPICS: Final = {"lab-134": 6}
EACH: Final = 10
SESSION_MS: Final = 6_000
COMMIT_MS: Final = 500
COMMITS: Final = 20
"""A member needs longer than its session time-out for this number of commits."""


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` (the shipped code if it is None) in a group, and yield the result of
    each check.
    """
    say(f"starting three brokers, and consumers with {'yours' if file is not None else 'ours'}")
    with running_cluster(f"lab-{exercise.id}") as cluster:
        make_topic(cluster, "lab-134", [0, 1, 2], TOPICS["lab-134"])
        write_to_each(cluster, TOPICS, EACH)
        try:
            with learner_consumers(exercise.id, file, patience_s) as consumers:
                group = Group(consumers, cluster.bootstrap_servers)
                group.open("one")
                group.open("two")
                yield group.settles("two members divide the partitions", 2)
                say(f"each commits {COMMITS} times, longer than a session")
                yield group.stays()
                say("a third one comes, and leaves")
                group.open("three")
                yield group.settles("three members divide the partitions", 3)
                consumers.close("three")
                yield group.settles("two members divide them again", 2)
                if file is not None:
                    yield consumers.judge_calls("the members stayed in their group")
        except NoAnswerError as error:
            yield Step("the consumers do their work", False, str(error), late=True)


class Group:
    """The members of the live group."""

    def __init__(self, consumers: LearnerConsumers, servers: str) -> None:
        self._consumers = consumers
        self._config = {
            "bootstrap.servers": servers,
            "group.id": "lab-134",
            "auto.offset.reset": "earliest",
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": 500,
            "auto.commit.interval.ms": COMMIT_MS,
        }

    def open(self, name: str) -> None:
        """Let another consumer join."""
        self._consumers.open(name, {**self._config, "client.id": name}, list(TOPICS))

    def _sizes(self) -> list[int]:
        """Return how many partitions each member has; an empty list during a rebalance."""
        members = self._consumers.members().values()
        if len({one.generation for one in members}) > 1:
            return []
        return [len(one.partitions) for one in members]

    def settles(self, says: str, members: int) -> Step:
        """Wait until all members have the same number of partitions."""
        wanted = [TOPICS["lab-134"] // members] * members
        came = self._consumers.wait_for(lambda: self._sizes() == wanted)
        return Step(says, came, f"partitions of each: {self._sizes()}", late=not came)

    def _commits(self, name: str) -> int:
        return sum(
            isinstance(event, ConsumerCommitted) and event.client == name and not event.error
            for event in self._consumers.listener.events()
        )

    def stays(self) -> Step:
        """Wait for commits of both members. Neither may be removed from the group meanwhile."""
        says = "both stay members, and commit"
        before = self._consumers.members()
        began = {name: self._commits(name) for name in before}
        came = self._consumers.wait_for(
            lambda: all(self._commits(name) - began[name] >= COMMITS for name in before)
        )
        now = self._consumers.members()
        for name, one in now.items():
            if (one.member_id, one.generation) != (before[name].member_id, before[name].generation):
                seen = f"{name} was in generation {before[name].generation}, and has joined again"
                return Step(says, False, seen)
        commits = min(self._commits(name) - began[name] for name in before)
        return Step(says, came, f"{commits} commits of each, or more", late=not came)
