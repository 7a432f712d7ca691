"""The right answers of exercise 04-7, and random events for a cluster that deletes topics."""

from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple, Protocol

ONLINE: Final = "Online"
OFFLINE: Final = "Offline"
STARTED: Final = "DeletionStarted"
SUCCESSFUL: Final = "DeletionSuccessful"
INELIGIBLE: Final = "DeletionIneligible"
Sent = tuple[tuple[str, int], ...]


class Call(NamedTuple):
    """A call of a method of the learner's class. `text` describes the call in one readable line."""

    method: str
    arguments: tuple[object, ...]
    text: str


class RightDeletion:
    """The reference for the learner's TopicDeletion. It gives the right answers."""

    def __init__(self, topics: Sequence[tuple[str, Sequence[int]]], live: Sequence[int]) -> None:
        self.live = set(live)
        self.replicas = {
            topic: {broker: ONLINE if broker in self.live else OFFLINE for broker in brokers}
            for topic, brokers in topics
        }
        self.ordered: set[str] = set()
        self.waiting: set[str] = set()
        self.moving: set[str] = set()

    def do(self, call: Call) -> Sent:
        """Handle one call. Return the StopReplica requests that the call sends, as (topic,
        broker).
        """
        match call.method, call.arguments:
            case "order", (str(topic),) if topic in self.replicas and topic not in self.ordered:
                self.ordered.add(topic)
                if topic in self.moving:
                    self.waiting.add(topic)
            case "answered", (str(topic), int(broker), bool(ok)):
                self._answered(topic, broker, ok)
            case "broker_failed", (int(broker),):
                self._failed(broker)
            case "broker_started", (int(broker),):
                self._started(broker)
            case "move_begins", (str(topic),) if topic not in self.ordered:
                self.moving |= {topic} & self.replicas.keys()
                return ()
            case "move_ended", (str(topic),) if topic in self.moving:
                self.moving.discard(topic)
                self.waiting.discard(topic)
        return self._resume()

    def states(self) -> tuple[tuple[str, int, str], ...]:
        """Return (topic, broker, state) of each existing replica, sorted by topic and broker."""
        return tuple(
            sorted(
                (topic, broker, state)
                for topic, states in self.replicas.items()
                for broker, state in states.items()
            )
        )

    def awaited(self) -> list[tuple[str, int]]:
        """Return (topic, broker) of each replica whose broker has not answered yet."""
        return [(topic, broker) for topic, broker, state in self.states() if state == STARTED]

    def _answered(self, topic: str, broker: int, ok: bool) -> None:
        states = self.replicas.get(topic, {})
        if states.get(broker) == STARTED:
            states[broker] = SUCCESSFUL if ok else INELIGIBLE
            if not ok:
                self.waiting.add(topic)

    def _failed(self, broker: int) -> None:
        self.live.discard(broker)
        for topic, states in self.replicas.items():
            match states.get(broker):
                case "Online":
                    states[broker] = OFFLINE
                case "DeletionStarted":
                    states[broker] = INELIGIBLE
                    self.waiting.add(topic)

    def _started(self, broker: int) -> None:
        self.live.add(broker)
        for topic, states in self.replicas.items():
            if states.get(broker) == OFFLINE and topic not in self.ordered:
                states[broker] = ONLINE
            if broker in states and topic not in self.moving:
                self.waiting.discard(topic)

    def _resume(self) -> Sent:
        sent: list[tuple[str, int]] = []
        for topic in sorted(self.ordered):
            states = self.replicas[topic]
            if set(states.values()) == {SUCCESSFUL}:
                del self.replicas[topic]
                self.ordered.discard(topic)
                self.waiting.discard(topic)
            elif topic not in self.waiting and STARTED not in states.values():
                for broker, state in states.items():
                    if state != SUCCESSFUL and broker in self.live:
                        states[broker] = STARTED
                        sent.append((topic, broker))
                    elif state != SUCCESSFUL:
                        states[broker] = INELIGIBLE
                        self.waiting.add(topic)
        return tuple(sent)


class Now(Protocol):
    """The current state of a cluster that deletes topics, as `something` and `quiet` need it."""

    live: set[int]
    replicas: dict[str, dict[int, str]]
    ordered: set[str]
    moving: set[str]

    def awaited(self) -> list[tuple[str, int]]:
        """Return (topic, broker) of each replica whose broker has not answered yet."""
        ...


def something(random: Random, now: Now, brokers: Sequence[int], *, late: bool) -> Call:
    """Return a random event that can happen now, as a call. If `late` is true, it can also be a
    useless event: an answer that nobody waits for, or a second order to delete the same topic.
    """
    while True:
        topic, broker = random.choice(sorted(now.replicas) or ["none"]), random.choice(brokers)
        kind = random.choice("oaaaaffssmn")
        useless = late and random.random() < 0.3
        if kind == "a" and useless:
            return answer(topic, broker, ok=random.random() < 0.7)
        if kind == "a" and now.awaited():
            return answer(*random.choice(now.awaited()), ok=random.random() < 0.85)
        if kind == "f" and broker in now.live and len(now.live) > 1:
            return Call("broker_failed", (broker,), f"broker {broker} dies")
        if kind == "s" and broker not in now.live:
            return started(broker)
        if kind == "m" and (useless or not {topic} & (now.moving | now.ordered)):
            return Call("move_begins", (topic,), f"the replicas of {topic} begin to move")
        if kind == "n" and (useless or topic in now.moving):
            return Call("move_ended", (topic,), f"the move of {topic} has ended")
        if kind == "o" and (useless or topic not in now.ordered or not now.replicas):
            return Call("order", (topic,), f"the deletion of {topic} is ordered")
        if len(now.ordered) == len(now.replicas) and not now.awaited() and now.live == {*brokers}:
            return started(broker)  # all deletions are ordered, and no other event is possible


def answer(topic: str, broker: int, *, ok: bool) -> Call:
    """Return the call for a broker's answer. `ok` says whether the broker has deleted its
    replica.
    """
    words = "has deleted" if ok else "cannot delete"
    return Call("answered", (topic, broker, ok), f"broker {broker} {words} {topic}")


def started(broker: int) -> Call:
    """Return the call that reports the start of a broker."""
    return Call("broker_started", (broker,), f"broker {broker} comes")


def quiet(now: Now, brokers: Sequence[int]) -> Call | None:
    """Return the next event that leads to a quiet cluster, or None if the cluster is quiet. First
    running moves end, then dead brokers start, and then every broker answers that it has deleted
    its replica.
    """
    for topic in sorted(now.moving):
        return Call("move_ended", (topic,), f"the move of {topic} has ended")
    for broker in brokers:
        if broker not in now.live:
            return started(broker)
    for topic, broker in now.awaited():
        return answer(topic, broker, ok=True)
    return None
