"""Exercise 04-7: the reference solution (Kafka: TopicDeletionManager.failReplicaDeletion)."""

from collections.abc import Sequence

Sent = list[tuple[str, int]]  # (topic, broker): a StopReplica goes out

ONLINE = "Online"
OFFLINE = "Offline"
STARTED = "DeletionStarted"
SUCCESSFUL = "DeletionSuccessful"
INELIGIBLE = "DeletionIneligible"


class TopicDeletion:
    """The controller's part in the deletion of topics. It keeps their replicas' states."""

    def __init__(self, topics: Sequence[tuple[str, Sequence[int]]], live: Sequence[int]) -> None:
        """`topics` has (topic, brokers with a replica of it). `live` has the live brokers."""
        self.live = set(live)
        self.replicas = {
            topic: {broker: ONLINE if broker in self.live else OFFLINE for broker in brokers}
            for topic, brokers in topics
        }
        self.ordered: set[str] = set()  # to be deleted
        self.waiting: set[str] = set()  # and not to be tried now
        self.moving: set[str] = set()

    def order(self, topic: str) -> Sent:
        """Order the deletion of a topic. Return the StopReplica requests to send now."""
        if topic not in self.replicas or topic in self.ordered:
            return []
        self.ordered.add(topic)
        if topic in self.moving:
            self.waiting.add(topic)
        return self.resume()

    def answered(self, topic: str, broker: int, ok: bool) -> Sent:
        """Process a broker's answer: whether it has deleted its replica. Return what to send."""
        states = self.replicas.get(topic, {})
        if states.get(broker) != STARTED:
            return []
        states[broker] = SUCCESSFUL if ok else INELIGIBLE
        if not ok:
            self.waiting.add(topic)
        return self.resume()

    def broker_failed(self, broker: int) -> Sent:
        """Process the death of a broker. Return the StopReplica requests to send now."""
        self.live.discard(broker)
        for topic, states in self.replicas.items():
            if states.get(broker) == ONLINE:
                states[broker] = OFFLINE
            elif states.get(broker) == STARTED:  # it will never answer
                states[broker] = INELIGIBLE
                self.waiting.add(topic)
        return self.resume()

    def broker_started(self, broker: int) -> Sent:
        """Process the return of a broker. Return the StopReplica requests to send now."""
        self.live.add(broker)
        for topic, states in self.replicas.items():
            if states.get(broker) == OFFLINE and topic not in self.ordered:
                states[broker] = ONLINE
            if broker in states and topic not in self.moving:
                self.waiting.discard(topic)
        return self.resume()

    def move_begins(self, topic: str) -> Sent:
        """Record that a topic's replicas begin to move. Ignored if the topic is being deleted."""
        if topic in self.replicas and topic not in self.ordered:
            self.moving.add(topic)
        return []

    def move_ended(self, topic: str) -> Sent:
        """Record that a topic's move has ended. Return the StopReplica requests to send now."""
        if topic in self.moving:
            self.moving.discard(topic)
            self.waiting.discard(topic)
        return self.resume()

    def resume(self) -> Sent:
        """Continue every ordered deletion as far as possible. Return the requests to send now."""
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
        """Begin to delete each replica whose broker is alive. Return the requests to send now."""
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
        """Return (topic, broker, state) of each replica that exists, sorted by topic and broker.
        The tests call `states`; it works, and you need not change it.
        """
        return sorted(
            (topic, broker, state)
            for topic, states in self.replicas.items()
            for broker, state in states.items()
        )

    def diagnosis(self) -> tuple[str, int, str]:
        """Return the topic whose deletion never ends, the number of the event in events.txt after
        which no step would continue this deletion, and the name of the wrong method.
        """
        return "pay", 13, "broker_failed"
