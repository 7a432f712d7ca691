"""Try every order of a small cluster's events, to test a learner's rule that elects the leaders.

    rule        elect(replicas, isr, live) → the broker that leads from now on, or None
    events      produce VALUE   a producer sends a record with acks=all to the leader
                fetch N         follower N looks up its epoch, truncates, fetches and appends
                lag             31 s pass without a fetch: followers that are behind leave the ISR
                kill N          broker N is killed (kill -9), and the controller notices it
                start N         broker N starts again, with its log
    wrong       an acknowledged record is not in the leader's log
                there is no leader, although a replica in the ISR is alive
                the rule elects a broker that is not alive

The controller is simulated. All other parts are the broker's own code (`stepped_cluster`): logs,
high watermarks, epochs, fetchers, ISR, purgatories. An event that is not possible now, such as a
kill of a dead broker, can come only when it is possible.

    ISR [0, 1]   produce a · lag · kill 0   with "the first that is alive"
    The ISR becomes [0], so a is acknowledged. Then broker 1 leads without a.
    This order has three events, and no order of two events is wrong.

If several orders lead to the same state, the search follows only one of them. Two states are the
same if they have the same brokers, logs, offsets, epochs, ISR, fetchers, waiting records,
acknowledged records, and remaining events. Their clocks may differ. Only `lag` depends on the
clock, and its 31 s are longer than replica.lag.time.max.ms in any case.
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
"""The virtual time that each event takes, except `lag`, in ms. In a recording the events are then
well apart.
"""
HOP_MS: Final = 1
"""The virtual time between a decision and its effects, in ms. It is not 0, so that a recording has
them in the right order.
"""
PATIENCE_MS: Final = 3_600_000
NOBODY: Final = -1
EVENTS: Final = '"produce VALUE", "fetch N", "lag", "kill N" and "start N"'

Elect = Callable[[Sequence[int], Sequence[int], Sequence[int]], object]
"""The learner's rule. It gets the replicas, the ISR and the live brokers, and returns the new
leader or None.
"""


class ClusterEvent(NamedTuple):
    """One event of the cluster. It happens once."""

    kind: str
    broker: int = NOBODY
    value: str = ""

    def __str__(self) -> str:
        return " ".join([self.kind, *([str(self.broker)] * (self.broker >= 0)), self.value]).strip()


def parse_events(text: str, brokers: int) -> tuple[ClusterEvent, ...]:
    """Parse a list of events such as `produce a, kill 0, start 0`. Raises ValueError with a text
    that says what is wrong.
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
    raise ValueError(f"{text.strip()!r} is not an event; the events are {EVENTS}")


class ElectionWorld:
    """A small cluster to which events happen in one order. At the beginning all brokers are up and
    in the ISR, and broker 0 is the leader.
    """

    def __init__(self, brokers: int, elect: Elect) -> None:
        self.cluster = SteppedCluster(brokers)
        self._elect = elect
        self._replicas = tuple(range(brokers))
        self.acknowledged: list[str] = []
        self._waiting: list[tuple[str, Produced]] = []
        self.on_event: Callable[[ClusterEvent], None] = lambda event: None
        """A callback before each event."""
        self.on_election: Callable[[LeaderAndIsr, LeaderAndIsr], None] = lambda before, after: None
        """A callback for each election, with the partition's state before and after it. It is
        called before the brokers are informed.
        """
        self._bad_answer = ""
        self._stopped: dict[int, tuple[int, tuple[str, ...]]] = {}
        """The high watermark and the records that each killed broker had when it was killed."""
        self.cluster.elect(0, self._replicas)
        for _ in range(2):
            self.cluster.fetch(*self._replicas[1:])
        self.cluster.settle_isr()

    @property
    def live(self) -> tuple[int, ...]:
        return tuple(broker.id for broker in self.cluster.brokers if broker.alive)

    @property
    def leader(self) -> int:
        """The id of the leader, or NOBODY."""
        return self.cluster.state.leader

    def possible(self, event: ClusterEvent) -> bool:
        """Return whether an event is possible now."""
        match event.kind:
            case "produce" | "lag":
                return self.leader != NOBODY
            case "fetch":
                return event.broker in self.live and self.leader not in (NOBODY, event.broker)
            case "start":
                return event.broker not in self.live
        return event.broker in self.live

    def do(self, event: ClusterEvent) -> None:
        """Let a possible event happen."""
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
        if killed.manager.partitions.get(T) is not None:  # if None, no broker has led
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
        """Call the learner's rule, and carry out its answer as the controller does."""
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
        """Return in words what is wrong now, or "" if nothing is wrong."""
        if self._bad_answer:
            return self._bad_answer
        state = self.cluster.state
        if self.leader == NOBODY:
            able = [one for one in self.live if one in state.isr]
            if able:
                return f"no replica leads t-0, although {able[0]} is alive and in the ISR"
            return ""
        have = self.cluster.leader.values()
        lost = [value for value in self.acknowledged if value not in have]
        if lost:
            return (
                f"broker {self.leader} leads t-0 without record {lost[0]!r}, which was acknowledged"
            )
        return ""

    def fingerprint(self) -> Hashable:
        """Return everything in the cluster that matters for later events, except the clocks."""
        waiting = tuple(value for value, _ in self._waiting)
        brokers = tuple(map(self._replica, self.cluster.brokers))
        return brokers, self.cluster.state, tuple(sorted(self.acknowledged)), waiting

    def _replica(self, broker: ModelBroker) -> Hashable:
        """Return the part of a broker's state that matters later. For a dead broker this is only
        its disk.
        """
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
    """The state of the search after some events. Two states are equal if the same events have the
    same effects after them.
    """

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
    """All orders of the given events (implements `all_orders.Space`). To reach a state, the events
    are played again from the beginning, which takes some ms.
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
        """Return a new cluster after the events in `order` have happened."""
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
