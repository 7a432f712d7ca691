"""The world of exercises 07-4 and 07-5: one partition on two brokers, which lead in turns. A record
is acknowledged when all members of the ISR have it.
"""

from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple, Protocol

from kafka_edu.log.leader_epoch_file_cache import EpochEntry, end_offset_in

BROKERS: Final = (0, 1)
MOST_QUESTIONS: Final = 20
NOTHING: Final = 0

Epochs = list[list[int]]
"""The epochs of a log in order: [epoch, offset of its first record] for each."""


class Follows(Protocol):
    """The code of a broker that begins to follow. `TwoBrokers` asks this code where the broker has
    to cut its log.
    """

    def follow(self, epochs: Epochs, leo: int, hw: int) -> object:
        """Return the first operation: ("cut", offset), or ("ask", epoch)."""
        ...

    def answer(self, epoch: int, end: int) -> object:
        """Return the next operation, after the leader has answered that `epoch` ends at `end`."""
        ...


MayJoin = Callable[[int, int, int], bool]
"""The rule for joining the ISR: (the follower's LEO, high watermark, epoch's start) → yes or no."""


class Event(NamedTuple):
    """One event of a run, as a line of text."""

    text: str
    cut: tuple[int, ...] = ()
    """The numbers of the records that this event cut off."""
    joined: int = -1
    """The broker that joined the ISR by this event; -1 if no broker joined."""


class BadAnswerError(Exception):
    """A broker returned an operation that is impossible, or never cut its log."""


class Stored(NamedTuple):
    """A record in a log, with the epoch of the leader that wrote it."""

    record: int
    epoch: int


class Replica:
    """One broker's replica of the partition, with its log."""

    def __init__(self, broker: int) -> None:
        self.broker = broker
        self.log: list[Stored] = []
        self.hw = 0
        self.alive = True
        self.ready = True
        """Whether the replica may fetch. It is always True here, because a cut takes no time."""

    @property
    def leo(self) -> int:
        """The log end offset: the offset that the next record will get."""
        return len(self.log)

    def epochs(self) -> Epochs:
        """Return [epoch, offset of its first record] for each epoch in the log."""
        found: Epochs = []
        for offset, stored in enumerate(self.log):
            if not found or found[-1][0] != stored.epoch:
                found.append([stored.epoch, offset])
        return found


class TwoBrokers:
    """The partition, its leader and its ISR. A test controls each step."""

    def __init__(self, make: Callable[[], Follows], may_join: MayJoin) -> None:
        """`make` is called each time a broker begins to follow, and returns a new object."""
        self._make = make
        self._may_join = may_join
        self.replicas = [Replica(broker) for broker in BROKERS]
        self.leader = 0
        self.epoch = 0
        self.isr = {0, 1}
        self._known = {0: 0, 1: 0}
        """The LEO of each broker, as far as the leader knows it: broker → LEO."""
        self._epoch_start = 0
        self._records = 0
        self.acked: list[int] = []
        self.events: list[Event] = []

    # Actions of a test on the world.

    def go_on(self, random: Random) -> None:
        """Do one random step. Raises BadAnswerError."""
        what = random.random()
        dead = [one.broker for one in self.replicas if not one.alive]
        if dead and what < 0.45:
            self.come_back(random.choice(dead))
        elif what < 0.6:
            self.produce()
        elif what < 0.86:
            self.fetch()
        elif dead:
            return
        elif what < 0.93:
            self.restart_follower()
        elif self.leader >= 0:
            self.kill(random.choice(BROKERS))

    def settle(self) -> None:
        """Start dead brokers, and let the follower fetch all records. Raises BadAnswerError."""
        for broker in BROKERS:
            if not self.replicas[broker].alive:
                self.come_back(broker)
        for _ in range(4):
            self.fetch()

    def produce(self) -> None:
        """Let the leader write a record, unless too many are still unacknowledged."""
        if self.leader < 0 or self.replicas[self.leader].leo - self.replicas[self.leader].hw > 3:
            return
        self._records += 1
        self.replicas[self.leader].log.append(Stored(self._records, self.epoch))
        self._note(f"broker {self.leader} writes record {self._records}")
        self._advance()

    def fetch(self) -> None:
        """Let the follower fetch. The fetch also informs the leader of the follower's LEO."""
        follower = self._follower()
        if follower is None:
            return
        self._hear(follower)
        leader = self.replicas[self.leader]
        new = leader.log[follower.leo :]
        follower.log += new
        follower.hw = min(leader.hw, follower.leo)
        if new:
            numbers = ", ".join(str(one.record) for one in new)
            self._note(
                f"broker {follower.broker} fetches record {numbers}; its high watermark is"
                f" {follower.hw}"
            )

    def restart_follower(self) -> None:
        """Let the follower send a fetch and restart before the answer arrives. The leader then
        knows the follower's LEO, but the answer with the new high watermark is lost.
        """
        follower = self._follower()
        if follower is not None:
            self._note(
                f"broker {follower.broker} asks for more, and is restarted; nobody misses it"
            )
            self._hear(follower)
            self._begin_to_follow(follower)

    def kill(self, broker: int) -> None:
        """Kill a broker. If it led, elect the other broker, if the other broker is in the ISR and
        alive.
        """
        self.replicas[broker].alive = False
        other = 1 - broker
        if broker != self.leader:
            self.isr.discard(broker)
            self._note(f"broker {broker} is killed, and leaves the ISR")
            self._advance()
            return
        self._note(f"broker {broker}, the leader, is killed")
        self.leader = -1
        if other in self.isr and self.replicas[other].alive:
            self._elect(other, {other})

    def come_back(self, broker: int) -> None:
        """Start a broker that was killed."""
        self.replicas[broker].alive = True
        self._note(f"broker {broker} is started")
        if self.leader >= 0:
            self._begin_to_follow(self.replicas[broker])
        elif broker in self.isr:
            self._elect(broker, {broker})

    # The state of the world, for checks.

    def missing(self) -> list[int]:
        """Return the numbers of the acknowledged records that the leader does not have."""
        if self.leader < 0:
            return []
        there = {one.record for one in self.replicas[self.leader].log}
        return [record for record in self.acked if record not in there]

    def differ_at(self) -> int | None:
        """Return the first offset at which the two logs have different records, or None if they
        are equal up to the end of the shorter log.
        """
        one, other = (replica.log for replica in self.replicas)
        for offset, (a, b) in enumerate(zip(one, other, strict=False)):
            if a != b:
                return offset
        return None

    # Private methods.

    def _note(self, text: str) -> None:
        self.events.append(Event(text))

    def _follower(self) -> Replica | None:
        if self.leader < 0:
            return None
        follower = self.replicas[1 - self.leader]
        return follower if follower.alive and follower.ready else None

    def _elect(self, broker: int, isr: set[int]) -> None:
        self.leader, self.isr = broker, isr
        self.epoch += 1
        replica = self.replicas[broker]
        replica.ready = True
        self._epoch_start = replica.leo
        self._known = {broker: replica.leo, 1 - broker: 0}
        self._note(f"broker {broker} leads, epoch {self.epoch}, from offset {replica.leo} on")
        self._advance()
        other = self.replicas[1 - broker]
        if other.alive:
            self._begin_to_follow(other)

    def _hear(self, follower: Replica) -> None:
        """Let the leader handle the follower's LEO, which a fetch request contains. The follower
        may join the ISR then.
        """
        leader, leo = self.replicas[self.leader], follower.leo
        self._known[follower.broker] = leo
        self._advance()
        if follower.broker in self.isr:
            return
        if self._may_join(leo, leader.hw, self._epoch_start):
            self.isr.add(follower.broker)
            self.events.append(
                Event(
                    f"broker {follower.broker} joins the ISR: its log ends at {leo}, and the high"
                    f" watermark is {leader.hw}",
                    joined=follower.broker,
                )
            )

    def _advance(self) -> None:
        """Raise the leader's high watermark, and acknowledge the records below it."""
        leader = self.replicas[self.leader]
        self._known[leader.broker] = leader.leo
        hw = max(leader.hw, min(self._known[broker] for broker in self.isr))
        for stored in leader.log[leader.hw : hw]:
            if stored.record not in self.acked:
                self.acked.append(stored.record)
                self._note(f"record {stored.record} is acknowledged")
        leader.hw = hw

    def _begin_to_follow(self, follower: Replica) -> None:
        """Ask the follower's code where to cut its log, and cut the log there. Raises
        BadAnswerError.
        """
        leader = self.replicas[self.leader]
        asked = self._make()
        reply = asked.follow(follower.epochs(), follower.leo, follower.hw)
        for _ in range(MOST_QUESTIONS):
            match reply:
                case ("cut", int(offset)) if 0 <= offset <= follower.leo:
                    gone = tuple(one.record for one in follower.log[offset:])
                    words = f"record {', '.join(map(str, gone))}" if gone else "nothing"
                    self.events.append(
                        Event(
                            f"broker {follower.broker} follows broker {leader.broker}, and cuts off"
                            f" {words}",
                            cut=gone,
                        )
                    )
                    del follower.log[offset:]
                    follower.hw = min(follower.hw, offset)
                    return
                case ("ask", int(epoch)):
                    entries = [EpochEntry(*pair) for pair in leader.epochs()]
                    if not entries or entries[-1].epoch < self.epoch:
                        entries.append(EpochEntry(self.epoch, leader.leo))
                    reply = asked.answer(*end_offset_in(entries, epoch, leader.leo))
                case _:
                    raise BadAnswerError(f"{reply!r}, with a log that ends at {follower.leo}")
        raise BadAnswerError(f"{MOST_QUESTIONS} questions, and still no cut")
