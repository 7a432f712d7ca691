"""The run of exercise 04-7: the starter's class handles events, and one deletion never ends."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from ..deletion_rules import STARTED, Call, quiet, something
from .starter import TopicDeletion

BROKERS: Final = (0, 1, 2, 3)
TOPICS: Final = ("log", "pay", "shop", "web")
CALLS: Final = 16


class Found(NamedTuple):
    """The topic and the event that the learner has to find in the run."""

    topic: str
    event: int
    """The number of the event after which nothing continues the deletion. The first event is 1."""


class Run(NamedTuple):
    """One complete run: its calls, the requests that each call sent, and what the learner has to
    find.
    """

    topics: tuple[tuple[str, tuple[int, ...]], ...]
    calls: tuple[Call, ...]
    sent: tuple[tuple[tuple[str, int], ...], ...]
    """The StopReplica requests that each call sent, as (topic, broker)."""
    states: tuple[tuple[str, int, str], ...]
    """The state of each replica at the end of the run, as (topic, broker, state)."""
    found: Found


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
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
    """Return the first run for this seed in which one deletion never ends, and a different deletion
    had to wait but has ended.
    """
    for number in count():
        made = run_once(Random(f"deletion/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


class Given(TopicDeletion):
    """The starter's class, together with the brokers' answers that are still on their way."""

    def __init__(self, topics: tuple[tuple[str, tuple[int, ...]], ...]) -> None:
        super().__init__(topics, BROKERS)
        self._on_the_way: list[tuple[str, int]] = []

    def do(self, call: Call) -> tuple[tuple[str, int], ...]:
        """Handle one call. If the call reports a broker's death, the answers of this broker are
        lost.
        """
        if call.method == "broker_failed":
            self._on_the_way = [one for one in self._on_the_way if one[1] != call.arguments[0]]
        elif call.method == "answered":
            self._on_the_way.remove((str(call.arguments[0]), int(str(call.arguments[1]))))
        sent = tuple(getattr(self, call.method)(*call.arguments))
        self._on_the_way += sent
        return sent

    def awaited(self) -> list[tuple[str, int]]:
        """Return (topic, broker) of each replica whose broker has not answered yet."""
        return sorted(self._on_the_way)

    def stuck(self) -> set[str]:
        """Return the topics that wait for a broker's answer, although this answer will never
        come.
        """
        return {
            topic
            for topic, broker, state in self.states()
            if state == STARTED and (topic, broker) not in self._on_the_way
        }


def run_once(random: Random) -> Run | None:
    """Make a run with these random choices. Return None unless exactly one deletion never ends."""
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
