"""Exercise 04-7: the deletion of a topic never ends. README.md describes the task.
`kafka-edu lab check 04-7` tests your code. `kafka-edu lab hint 04-7` gives a hint.
"""

from collections.abc import Sequence

Sent = list[tuple[str, int]]  # (topic, broker): a StopReplica goes out

ONLINE = "Online"
OFFLINE = "Offline"
STARTED = "DeletionStarted"
SUCCESSFUL = "DeletionSuccessful"
INELIGIBLE = "DeletionIneligible"


class TopicDeletion:
    """The part of the controller that deletes topics: it keeps topics, replicas and brokers."""

    def __init__(self, topics: Sequence[tuple[str, Sequence[int]]], live: Sequence[int]) -> None:
        """`topics` has (topic, brokers with its replicas). `live` has the live brokers."""
        self.live = set(live)
        self.replicas = {
            topic: {broker: ONLINE if broker in self.live else OFFLINE for broker in brokers}
            for topic, brokers in topics
        }
        self.ordered: set[str] = set()  # topics whose deletion was ordered
        self.waiting: set[str] = set()  # ordered topics whose deletion is not tried now
        self.moving: set[str] = set()

    def order(self, topic: str) -> Sent:
        """An operator orders this topic's deletion. Return the StopReplica requests to send."""
        if topic not in self.replicas or topic in self.ordered:
            return []
        self.ordered.add(topic)
        if topic in self.moving:
            self.waiting.add(topic)
        return self.resume()

    def answered(self, topic: str, broker: int, ok: bool) -> Sent:
        """A broker answers. If `ok` is true, it has deleted its replica. Otherwise it could not
        delete it.
        """
        states = self.replicas.get(topic, {})
        if states.get(broker) != STARTED:
            return []
        states[broker] = SUCCESSFUL if ok else INELIGIBLE
        if not ok:
            self.waiting.add(topic)
        return self.resume()

    def broker_failed(self, broker: int) -> Sent:
        """The controller learns that a broker is dead."""
        self.live.discard(broker)
        for states in self.replicas.values():
            if states.get(broker) == ONLINE:
                states[broker] = OFFLINE
        return self.resume()

    def broker_started(self, broker: int) -> Sent:
        """The controller learns that a broker has started."""
        self.live.add(broker)
        for topic, states in self.replicas.items():
            if states.get(broker) == OFFLINE and topic not in self.ordered:
                states[broker] = ONLINE
            if broker in states and topic not in self.moving:
                self.waiting.discard(topic)
        return self.resume()

    def move_begins(self, topic: str) -> Sent:
        """The replicas of a topic begin to move. If the topic's deletion was ordered before, do
        nothing.
        """
        if topic in self.replicas and topic not in self.ordered:
            self.moving.add(topic)
        return []

    def move_ended(self, topic: str) -> Sent:
        """The move of this topic's replicas has ended."""
        if topic in self.moving:
            self.moving.discard(topic)
            self.waiting.discard(topic)
        return self.resume()

    def resume(self) -> Sent:
        """Continue each ordered deletion as far as possible. Return the requests to send."""
        sent: Sent = []
        for topic in sorted(self.ordered):
            states = self.replicas[topic]
            if all(state == SUCCESSFUL for state in states.values()):
                del self.replicas[topic]
                self.ordered.discard(topic)
                self.waiting.discard(topic)
            elif topic not in self.waiting and STARTED not in states.values():
                sent += self.start(topic)
        return sent

    def start(self, topic: str) -> Sent:
        """Begin to delete this topic's replicas. If the broker of a replica is dead, the topic
        waits.
        """
        sent: Sent = []
        for broker, state in self.replicas[topic].items():
            if state == SUCCESSFUL:
                continue
            if broker in self.live:
                self.replicas[topic][broker] = STARTED
                sent.append((topic, broker))
            else:
                self.replicas[topic][broker] = INELIGIBLE
                self.waiting.add(topic)
        return sent

    def states(self) -> list[tuple[str, int, str]]:
        """Return (topic, broker, state) of each existing replica, sorted by topic and broker. The
        tests call this method. It works, and you need not change it.
        """
        return sorted(
            (topic, broker, state)
            for topic, states in self.replicas.items()
            for broker, state in states.items()
        )

    def diagnosis(self) -> tuple[str, int, str]:
        """Return the topic whose deletion never ends, the number of the event in events.txt after
        which nothing continues that deletion, and the name of the wrong method.
        """
        raise NotImplementedError(
            "TopicDeletion.diagnosis is not written yet: it returns (topic, number of the event,"
            " name of the method)"
        )
