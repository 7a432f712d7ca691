"""The run of exercise 04-7: the starter's class, and a topic whose deletion never ends."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..deletion_rules import STARTED, Call, quiet, something
from .starter import TopicDeletion

BROKERS: Final = (0, 1, 2, 3)
TOPICS: Final = ("log", "pay", "shop", "web")
CALLS: Final = 16


class Found(NamedTuple):
    """The facts to be found in the run."""

    topic: str
    event: int
    """The number of the event after which nobody would go on, from 1."""


class Run(NamedTuple):
    """All of one run."""

    topics: tuple[tuple[str, tuple[int, ...]], ...]
    calls: tuple[Call, ...]
    sent: tuple[tuple[tuple[str, int], ...], ...]
    """Of each call, the StopReplica that it sent."""
    states: tuple[tuple[str, int, str], ...]
    """At the end."""
    found: Found


def make(seed: int) -> dict[str, str]:
    """Return the file events.txt."""
    made = run(seed)
    lines = [f"{name} has replicas on brokers {_listed(ids)}" for name, ids in made.topics]
    lines.append("")
    for number, (call, sent) in enumerate(zip(made.calls, made.sent, strict=True), 1):
        lines.append(f"{number:>3}  {call.text}")
        lines += [f"       StopReplica of {topic} to broker {broker}" for topic, broker in sent]
    lines += ["", "At the end all brokers live, nothing moves, and no answer is on its way:"]
    lines += [f"     {topic} on broker {broker}: {state}" for topic, broker, state in made.states]
    return {"events.txt": "\n".join(lines) + "\n"}


def _listed(brokers: tuple[int, ...]) -> str:
    return ", ".join(map(str, brokers))


def run(seed: int) -> Run:
    """Return the run that a seed gives: the first in which one deletion never ends, and another one
    had to wait and has ended.
    """
    for number in count():
        made = run_once(Random(f"deletion/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


class Given(TopicDeletion):
    """The starter's class, and the answers that are on their way."""

    def __init__(self, topics: tuple[tuple[str, tuple[int, ...]], ...]) -> None:
        super().__init__(topics, BROKERS)
        self._on_the_way: list[tuple[str, int]] = []

    def do(self, call: Call) -> tuple[tuple[str, int], ...]:
        """Do what a call says. A broker that dies takes its answers with it."""
        if call.method == "broker_failed":
            self._on_the_way = [one for one in self._on_the_way if one[1] != call.arguments[0]]
        elif call.method == "answered":
            self._on_the_way.remove((str(call.arguments[0]), int(str(call.arguments[1]))))
        sent = tuple(getattr(self, call.method)(*call.arguments))
        self._on_the_way += sent
        return sent

    def awaited(self) -> list[tuple[str, int]]:
        """Return the replicas of which an answer may still come."""
        return sorted(self._on_the_way)

    def stuck(self) -> set[str]:
        """Return the topics with a replica of which an answer is waited for, and never comes."""
        return {
            topic
            for topic, broker, state in self.states()
            if state == STARTED and (topic, broker) not in self._on_the_way
        }


def run_once(random: Random) -> Run | None:
    """Return the run with these random numbers, or None if there is not one thing to find."""
    topics = tuple((name, tuple(random.sample(BROKERS, random.randint(2, 3)))) for name in TOPICS)
    given = Given(topics)
    calls: list[Call] = []
    sent: list[tuple[tuple[str, int], ...]] = []
    since: dict[str, int] = {}
    waited: set[str] = set()

    def do(call: Call) -> None:
        calls.append(call)
        sent.append(given.do(call))
        waited.update(given.waiting)
        for topic in given.stuck():
            since.setdefault(topic, len(calls))

    for _ in range(CALLS):
        do(something(random, given, BROKERS, late=False))
    while (call := quiet(given, BROKERS)) is not None:
        do(call)
    left = given.ordered & given.replicas.keys()
    if len(left) != 1 or {*since} != left or not waited - left:
        return None
    [topic] = left
    found = Found(topic, since[topic])
    return Run(topics, tuple(calls), tuple(sent), tuple(given.states()), found)
