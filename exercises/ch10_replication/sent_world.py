"""The world of exercise 10-4: one partition on three brokers. Fetches are answered at once, but an
answer needs some time to arrive, and may be lost. A record is acknowledged when the high watermark
has passed it.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, NamedTuple, Protocol

BROKERS: Final = (0, 1, 2)
MOST_WAITING: Final = 4
"""The maximum number of records that are written and not yet acknowledged."""


class Leads(Protocol):
    """The code of a leader. Each time that a broker begins to lead, it gets a new object."""

    def fetched(self, follower: int, offset: int, sent: int) -> object:
        """Process a fetch from `offset`. `sent` records are in its response."""
        ...

    def high_watermark(self, hw: int, leo: int, isr: Sequence[int]) -> object:
        """Return the new high watermark."""
        ...


class Event(NamedTuple):
    """One event of a run, as a line of text."""

    text: str
    acked: tuple[int, ...] = ()
    """The numbers of the records that are acknowledged by this event."""


class BadAnswerError(Exception):
    """The leader's code gave a high watermark that is impossible."""


class Replica:
    """One broker's replica: its log holds (number of the record, epoch of its leader)."""

    def __init__(self) -> None:
        self.log: list[tuple[int, int]] = []
        self.alive = True

    @property
    def leo(self) -> int:
        return len(self.log)


class SentWorld:
    """The partition, its leader and its ISR. A test controls each step."""

    def __init__(self, make: Callable[[], Leads]) -> None:
        self._make = make
        self.replicas = {broker: Replica() for broker in BROKERS}
        self.leader = 0
        self.epoch = 0
        self.isr = [*BROKERS]
        self.hw = 0
        self.acked: list[int] = []
        self.events: list[Event] = []
        self._records = 0
        self._code = make()
        self._on_the_way: dict[int, list[tuple[int, int]]] = {}
        """The answers that have not arrived yet: follower → their records."""

    # What a script does.

    def go_on(self, random: Random) -> None:
        """Do one random step. Raises BadAnswerError."""
        what = random.random()
        dead = [broker for broker in BROKERS if not self.replicas[broker].alive]
        followers = [broker for broker in BROKERS if broker != self.leader and broker not in dead]
        if dead and what < 0.2:
            self.start(random.choice(dead))
        elif what < 0.45:
            self.write()
        elif what < 0.9 and followers:
            follower = random.choice(followers)
            match random.random():
                case it if follower in self._on_the_way and it < 0.75:
                    self.arrive(follower)
                case it if follower in self._on_the_way and it < 0.85:
                    self.lose(follower)
                case _:
                    self.fetch(follower)
        elif not dead:
            self.kill(random.choice(BROKERS))

    def settle(self) -> None:
        """Start dead brokers, and let all brokers fetch all records. Raises BadAnswerError."""
        for broker in BROKERS:
            if not self.replicas[broker].alive:
                self.start(broker)
        for _ in range(3):
            for broker in BROKERS:
                if broker != self.leader:
                    self.arrive(broker)
                    self.fetch(broker)
                    self.arrive(broker)

    def write(self) -> None:
        """Let the leader write a record, unless too many are not yet acknowledged."""
        log = self.replicas[self.leader].log
        if len(log) - self.hw >= MOST_WAITING:
            return
        self._records += 1
        log.append((self._records, self.epoch))
        self._note(f"broker {self.leader} writes record {self._records}, at offset {len(log) - 1}")
        self._advance()

    def fetch(self, follower: int) -> None:
        """Let a follower fetch. The answer is then on its way, and an earlier answer is lost."""
        replica = self.replicas[follower]
        if follower == self.leader or not replica.alive:
            return
        new = self.replicas[self.leader].log[replica.leo :]
        self._on_the_way[follower] = new
        numbers = ", ".join(str(record) for record, _ in new)
        words = f"the answer with record {numbers} is on its way" if new else "there is nothing new"
        self._note(f"broker {follower} fetches from {replica.leo}: {words}")
        self._code.fetched(follower, replica.leo, len(new))
        if follower not in self.isr and replica.leo >= self.hw:
            self.isr.append(follower)
            self._note(f"broker {follower} joins the ISR")
        self._advance()

    def arrive(self, follower: int) -> None:
        """Let the answer on its way to the follower arrive."""
        new = self._on_the_way.pop(follower, [])
        if new:
            replica = self.replicas[follower]
            replica.log += new
            self._note(f"the answer reaches broker {follower}: its log ends at {replica.leo}")

    def lose(self, follower: int) -> None:
        """Lose the answer on its way: the connection ends. The follower will ask again."""
        if self._on_the_way.pop(follower, []):
            self._note(f"the connection of broker {follower} ends: the answer is lost")

    def kill(self, broker: int) -> None:
        """Kill a broker. If it leads, another ISR member becomes leader. Raises BadAnswerError."""
        if len(self.isr) == 1 and broker in self.isr:
            return
        self.replicas[broker].alive = False
        self.isr = [one for one in self.isr if one != broker]
        self._on_the_way.pop(broker, None)
        if broker != self.leader:
            self._note(f"broker {broker} is killed, and leaves the ISR")
            self._advance()
            return
        self._on_the_way.clear()
        self._note(f"broker {broker}, the leader, is killed; answers on their way are lost")
        self.leader = self.isr[0]
        self.epoch += 1
        self._code = self._make()
        replica = self.replicas[self.leader]
        self.hw = min(self.hw, replica.leo)
        self._note(f"broker {self.leader} leads, epoch {self.epoch}: its log ends at {replica.leo}")
        for other in BROKERS:
            if other != self.leader and self.replicas[other].alive:
                self._follow(other)
        self._advance()

    def start(self, broker: int) -> None:
        """Start a broker that was killed. It becomes a follower outside the ISR."""
        self.replicas[broker].alive = True
        self._note(f"broker {broker} is started")
        self._follow(broker)

    # What there is to see.

    def missing(self) -> list[int]:
        """Return the numbers of the acknowledged records that the leader does not have."""
        there = {record for record, _ in self.replicas[self.leader].log}
        return [record for record in self.acked if record not in there]

    def ahead_of(self) -> int | None:
        """Return an ISR member whose log ends below the high watermark; None if there is none."""
        return next((one for one in self.isr if self.replicas[one].leo < self.hw), None)

    # Inside.

    def _note(self, text: str) -> None:
        self.events.append(Event(text))

    def _follow(self, broker: int) -> None:
        """Cut the follower's log where it differs from the leader's."""
        log, leaders = self.replicas[broker].log, self.replicas[self.leader].log
        same = 0
        while same < min(len(log), len(leaders)) and log[same] == leaders[same]:
            same += 1
        if same < len(log):
            gone = ", ".join(str(record) for record, _ in log[same:])
            self._note(f"broker {broker} follows, and cuts off record {gone}")
        del log[same:]

    def _advance(self) -> None:
        """Ask the leader's code for the high watermark, and acknowledge the records below it."""
        log = self.replicas[self.leader].log
        came = self._code.high_watermark(self.hw, len(log), list(self.isr))
        if not isinstance(came, int) or isinstance(came, bool) or not self.hw <= came <= len(log):
            raise BadAnswerError(
                f"high_watermark({self.hw}, {len(log)}, {self.isr}) answered {came!r}"
            )
        new = [record for record, _ in log[self.hw : came] if record not in self.acked]
        moved, self.hw = came > self.hw, came
        self.acked += new
        if moved:
            numbers = ", ".join(map(str, new))
            words = f": record {numbers} is acknowledged" if new else ""
            self.events.append(Event(f"the high watermark moves to {came}{words}", tuple(new)))
