"""Every order of a small cluster's events, with a rule of a learner's that elects the leaders.

    rule        elect(replicas, isr, live) → the broker that leads from now on, or None
    events      produce VALUE   a record with acks=all, to the leader
                fetch N         a follower's round: look up the epoch, truncate, fetch, append
                lag             31 s without a fetch: followers that are behind leave the ISR
                kill N          kill -9, and the controller notices
                start N         the broker comes back, with its log
    wrong       an acknowledged record is not in the leader's log
                nobody leads, although a replica in the ISR is alive
                the rule elects a broker that is not there

Everything but the controller is the broker's own code (`stepped_cluster`): logs, high watermarks,
epochs, fetchers, ISR, purgatories. An event that cannot happen (a kill of a dead broker, a record
without a leader) waits until it can.

    ISR [0, 1]   produce a · lag · kill 0   with "the first that is alive"
    The ISR becomes [0], so a is acknowledged. Then 1 leads without a: three events, and no order
    of two is wrong.

Orders that lead to the same state are followed once. Two states are the same if brokers, logs,
offsets, epochs, ISR, fetchers, waiting and acknowledged records and what is left to happen are the
same. Only clocks may differ: nothing here but `lag` looks at them, and `lag` is longer than
replica.lag.time.max.ms by itself.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Final, NamedTuple

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.common.errors import Errors
from kafka_edu.sim.stepped_cluster import ModelBroker, Produced, SteppedCluster, T

MOST_BROKERS: Final = 3
MOST_EVENTS: Final = 8
LAG_MS: Final = 31_000
EVENT_MS: Final = 1_000
"""The time of each other event. In a recording of an order they are then well apart."""
HOP_MS: Final = 1
"""Between a decision and its effects, so that a recording has them in their order."""
PATIENCE_MS: Final = 3_600_000
NOBODY: Final = -1
EVENTS: Final = '"produce VALUE", "fetch N", "lag", "kill N" and "start N"'

Elect = Callable[[Sequence[int], Sequence[int], Sequence[int]], object]
"""The rule: (replicas, ISR, live brokers) → the new leader, or None."""


class ClusterEvent(NamedTuple):
    """Something that happens to the cluster, once."""

    kind: str
    broker: int = NOBODY
    value: str = ""

    def __str__(self) -> str:
        return " ".join([self.kind, *([str(self.broker)] * (self.broker >= 0)), self.value]).strip()


def parse_events(text: str, brokers: int) -> tuple[ClusterEvent, ...]:
    """Return events that are written as `produce a, kill 0, start 0`. Raises ValueError, which says
    what is wrong.
    """
    if not 1 <= brokers <= MOST_BROKERS:
        raise ValueError(f"{brokers} brokers are not 1 to {MOST_BROKERS}")
    events = tuple(_parse(one, brokers) for one in text.split(",") if one.strip())
    if not 1 <= len(events) <= MOST_EVENTS:
        raise ValueError(
            f"there are {len(events)} events; 1 to {MOST_EVENTS} have few enough orders to try"
            " them all"
        )
    values = [event.value for event in events if event.kind == "produce"]
    if len(set(values)) < len(values):
        raise ValueError("two records have the same value: give each its own, to tell them apart")
    return events


def _parse(text: str, brokers: int) -> ClusterEvent:
    match text.split():
        case ["produce", value]:
            return ClusterEvent("produce", value=value)
        case ["lag"]:
            return ClusterEvent("lag")
        case [("fetch" | "kill" | "start") as kind, number] if number.isdecimal():
            if int(number) >= brokers:
                raise ValueError(f"{text.strip()!r}: the brokers are 0 to {brokers - 1}")
            return ClusterEvent(kind, int(number))
    raise ValueError(f"{text.strip()!r} is no event; the events are {EVENTS}")


class ElectionWorld:
    """A cluster in one order of its events. All brokers are up and in the ISR, and 0 leads."""

    def __init__(self, brokers: int, elect: Elect) -> None:
        self.cluster = SteppedCluster(brokers)
        self._elect = elect
        self._replicas = tuple(range(brokers))
        self.acknowledged: list[str] = []
        self._waiting: list[tuple[str, Produced]] = []
        self.on_event: Callable[[ClusterEvent], None] = lambda event: None
        """Called before each event."""
        self.on_election: Callable[[LeaderAndIsr, LeaderAndIsr], None] = lambda before, after: None
        """Called with the state before and after each election, before brokers hear of it."""
        self._bad_answer = ""
        self._stopped: dict[int, tuple[int, tuple[str, ...]]] = {}
        """The high watermark and the records of each broker that was killed, at that moment."""
        self.cluster.elect(0, self._replicas)
        for _ in range(2):
            self.cluster.fetch(*self._replicas[1:])
        self.cluster.settle_isr()

    @property
    def live(self) -> tuple[int, ...]:
        return tuple(broker.id for broker in self.cluster.brokers if broker.alive)

    @property
    def leader(self) -> int:
        """The leader; NOBODY if there is none."""
        return self.cluster.state.leader

    def possible(self, event: ClusterEvent) -> bool:
        """Return whether an event can happen now."""
        match event.kind:
            case "produce" | "lag":
                return self.leader != NOBODY
            case "fetch":
                return event.broker in self.live and self.leader not in (NOBODY, event.broker)
            case "start":
                return event.broker not in self.live
        return event.broker in self.live

    def do(self, event: ClusterEvent) -> None:
        """Let an event happen that is possible."""
        cluster = self.cluster
        cluster.step(LAG_MS if event.kind == "lag" else EVENT_MS)
        self.on_event(event)
        cluster.time.advance(HOP_MS)
        match event.kind:
            case "produce":
                self._waiting.append(
                    (event.value, cluster.produce(event.value, timeout_ms=PATIENCE_MS))
                )
            case "fetch":
                cluster.fetch(event.broker)
            case "lag":
                cluster.leader.manager.isr_updates.maybe_shrink_isr()
            case "kill":
                self._kill(event.broker)
            case "start":
                self._start(event.broker)
        cluster.settle_isr()
        self._take_answers()

    def _kill(self, broker: int) -> None:
        killed = self.cluster.brokers[broker]
        if killed.manager.partitions.get(T) is not None:  # else nobody has led since its start
            self._stopped[broker] = killed.hw, tuple(killed.values())
        killed.alive = False
        before = self.cluster.state
        if broker == before.leader:
            self._waiting.clear()  # their connections are closed
            self._elect_leader()
        elif broker in before.isr and len(before.isr) > 1:
            isr = tuple(one for one in before.isr if one != broker)
            if before.leader == NOBODY:
                self.cluster.state = before._replace(isr=isr)
            else:
                self.cluster.elect(before.leader, isr)

    def _start(self, broker: int) -> None:
        started = self.cluster.brokers[broker]
        started.restart(self._stopped[broker][0])
        if self.leader == NOBODY:
            self._elect_leader()
        if self.leader != NOBODY:
            self.cluster.tell(broker)

    def _elect_leader(self) -> None:
        """Ask the rule, and do what the controller does with its answer."""
        before, live = self.cluster.state, self.live
        answer = self._elect(self._replicas, before.isr, live)
        if answer is not None and (type(answer) is not int or answer not in live):
            self._bad_answer = (
                f"elect({list(self._replicas)}, {list(before.isr)}, {list(live)}) returned"
                f" {answer!r}, and that is neither a live broker nor None"
            )
            answer = None
        assert answer is None or isinstance(answer, int)
        if answer is None:
            after = before._replace(leader=NOBODY)
        else:
            isr = [one for one in before.isr if one in live] if answer in before.isr else [answer]
            after = before._replace(
                leader=answer, isr=tuple(isr), leader_epoch=before.leader_epoch + 1
            )
        self.on_election(before, after)
        self.cluster.time.advance(HOP_MS)
        if answer is None:
            self.cluster.state = after
        else:
            self.cluster.elect(after.leader, after.isr)

    def _take_answers(self) -> None:
        still = []
        for value, produced in self._waiting:
            error = produced.error()
            if error is None:
                still.append((value, produced))
            elif error is Errors.NONE:
                self.acknowledged.append(value)
        self._waiting = still

    def fault(self) -> str:
        """Say what is wrong now; empty if nothing is."""
        if self._bad_answer:
            return self._bad_answer
        state = self.cluster.state
        if self.leader == NOBODY:
            able = [one for one in self.live if one in state.isr]
            if able:
                return f"nobody leads t-0, although {able[0]} is alive and in the ISR"
            return ""
        have = self.cluster.leader.values()
        lost = [value for value in self.acknowledged if value not in have]
        if lost:
            return (
                f"broker {self.leader} leads t-0 without record {lost[0]!r}, which was acknowledged"
            )
        return ""

    def fingerprint(self) -> Hashable:
        """Return all that matters later, but for the clocks."""
        waiting = tuple(value for value, _ in self._waiting)
        brokers = tuple(map(self._replica, self.cluster.brokers))
        return brokers, self.cluster.state, tuple(sorted(self.acknowledged)), waiting

    def _replica(self, broker: ModelBroker) -> Hashable:
        """Return what a broker knows. Of a dead one only its disk matters."""
        if not broker.alive or broker.manager.partitions.get(T) is None:
            return broker.alive, self._stopped[broker.id]
        partition, fetcher = broker.partition, self.cluster.fetcher(broker.id)
        followers = [partition.follower(other) for other in self._replicas]
        return (
            tuple(broker.values()),
            tuple(broker.log.leader_epoch_cache.entries),
            broker.hw,
            (partition.leader, partition.leader_epoch, partition.isr),
            tuple(one and one.log_end_offset.message_offset for one in followers),
            fetcher and (fetcher.leader, bool(fetcher.epochs_wanted())),
        )


class Reached:
    """The state after some events. Two are equal if they go on in the same way."""

    __slots__ = ("_same", "fault", "moves", "order")

    def __init__(
        self,
        order: tuple[ClusterEvent, ...],
        left: Sequence[ClusterEvent],
        world: ElectionWorld,
    ) -> None:
        self.order = order
        self.fault = world.fault()
        self.moves = tuple(event for event in dict.fromkeys(left) if world.possible(event))
        self._same = tuple(sorted(left)), world.fingerprint()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reached) and self._same == other._same

    def __hash__(self) -> int:
        return hash(self._same)


class ElectionSpace:
    """All orders of some events (implements `all_orders.Space`). Each order is played anew, from
    the beginning on, which costs some ms.
    """

    def __init__(self, brokers: int, events: Sequence[ClusterEvent], elect: Elect) -> None:
        self._brokers = brokers
        self._events = tuple(events)
        answers: dict[Hashable, object] = {}

        def remembered(replicas: Sequence[int], isr: Sequence[int], live: Sequence[int]) -> object:
            key = tuple(replicas), tuple(isr), tuple(live)
            if key not in answers:
                answers[key] = elect(*key)
            return answers[key]

        self._elect = remembered

    def begin(self) -> Reached:
        return self._reached(())

    def _reached(self, order: tuple[ClusterEvent, ...]) -> Reached:
        left = list(self._events)
        for event in order:
            left.remove(event)
        return Reached(order, left, self.play(order))

    def play(self, order: Sequence[ClusterEvent]) -> ElectionWorld:
        """Return the cluster after some events."""
        world = ElectionWorld(self._brokers, self._elect)
        for event in order:
            world.do(event)
        return world

    def moves(self, state: Reached) -> Sequence[ClusterEvent]:
        return state.moves

    def after(self, state: Reached, move: ClusterEvent) -> Reached:
        return self._reached((*state.order, move))

    def fault(self, state: Reached) -> str:
        return state.fault
