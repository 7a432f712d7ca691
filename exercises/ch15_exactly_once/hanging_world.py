"""The world of exercise 15-4: producers write transactions to partitions. A batch needs time to
arrive. Each producer has a coordinator, which adds partitions to its transaction and sends the
markers. A leader refuses a producer with an older epoch than the epoch that the leader knows.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, NamedTuple, Protocol

PRODUCERS: Final = (1, 2, 3)
PARTITIONS: Final = (0, 1)
NOBODY: Final = 0


class Coordinates(Protocol):
    """The code of a coordinator, for one producer."""

    def init(self) -> object:
        """The producer starts: return its new epoch, and the markers of its old transaction."""
        ...

    def add(self, epoch: int, partition: int) -> object:
        """Add a partition to the transaction. Return False if the epoch is old."""
        ...

    def end(self, epoch: int) -> object:
        """End the transaction: return its markers, or None if the epoch is old."""
        ...

    def expire(self) -> object:
        """Abort the transaction because its time-out is over. Return its markers."""
        ...


class Event(NamedTuple):
    """One event of a run, as a line of text."""

    text: str
    wrote: tuple[int, int] | None = None
    """(partition, offset) of the batch that was written; None if none was."""


class BadAnswerError(Exception):
    """The coordinator's code gave an answer of another kind."""


class Partition:
    """A partition at its leader."""

    def __init__(self) -> None:
        self.end = 0
        self.epochs: dict[int, int] = {}
        """The newest known epoch of each producer."""
        self.open: dict[int, int] = {}
        """The first offset of each producer's open transaction."""

    @property
    def last_stable(self) -> int:
        return min(self.open.values(), default=self.end)


class ProducerLife:
    """The state of a producer, from the producer's view."""

    def __init__(self) -> None:
        self.epoch = 0
        self.added: set[int] = set()
        self.sent = 0
        """How many batches the open transaction has."""


class HangingWorld:
    """The producers, their coordinators, and the partitions. A test controls each step."""

    def __init__(self, make: Callable[[], Coordinates]) -> None:
        self.codes = {producer: make() for producer in PRODUCERS}
        self.lives = {producer: ProducerLife() for producer in PRODUCERS}
        self.partitions = {number: Partition() for number in PARTITIONS}
        self.ongoing: dict[int, set[int]] = {producer: set() for producer in PRODUCERS}
        """The partitions of each transaction that a coordinator still has to end."""
        self.on_the_way: dict[int, list[tuple[int, int]]] = {one: [] for one in PRODUCERS}
        """The batches of each producer that have not arrived: (partition, epoch)."""
        self.fenced: list[int] = []
        """The producers that a coordinator refused, although they were not replaced or expired."""
        self.events: list[Event] = []
        self._expired: set[int] = set()
        for producer in PRODUCERS:
            self.start(producer)

    # What a script does.

    def go_on(self, random: Random) -> None:
        """Do one random step. Raises BadAnswerError."""
        producer = random.choice(PRODUCERS)
        waiting = self.on_the_way[producer]
        match random.random():
            case luck if luck < 0.35:
                self.send(producer, random.choice(PARTITIONS))
            case luck if luck < 0.65 and waiting:
                self.arrive(producer)
            case luck if luck < 0.85 and not waiting:
                self.commit(producer)
            case luck if luck < 0.93 and self.ongoing[producer]:
                self.expire(producer)
            case luck if luck > 0.96:
                self.start(producer)

    def settle(self) -> None:
        """Let all batches arrive, and all transactions end. Raises BadAnswerError."""
        for producer in PRODUCERS:
            while self.on_the_way[producer]:
                self.arrive(producer)
            self.commit(producer)
            if self.ongoing[producer]:
                self.expire(producer)

    def start(self, producer: int) -> None:
        """Start a producer, or start it again. Its batches in flight may still arrive."""
        match self.codes[producer].init():
            case (int(epoch), list() | tuple() as markers) if not isinstance(epoch, bool):
                pass
            case answer:
                raise BadAnswerError(f"init() answered {answer!r}")
        self.lives[producer] = ProducerLife()
        self.lives[producer].epoch = epoch
        self._expired.discard(producer)
        self._note(f"producer {producer} starts, with epoch {epoch}")
        self._mark(producer, markers, "init()", "abort")

    def send(self, producer: int, partition: int) -> None:
        """Let a producer add a partition to its transaction, and send a batch to the partition."""
        life = self.lives[producer]
        if partition not in life.added:
            answer = self.codes[producer].add(life.epoch, partition)
            if not isinstance(answer, bool):
                raise BadAnswerError(f"add({life.epoch}, {partition}) answered {answer!r}")
            if not answer:
                self._fence(producer)
                return
            life.added.add(partition)
            self.ongoing[producer].add(partition)
            self._note(f"producer {producer} adds partition {partition} to its transaction")
        life.sent += 1
        self.on_the_way[producer].append((partition, life.epoch))
        self._note(f"producer {producer} sends a batch to partition {partition}")

    def arrive(self, producer: int) -> None:
        """Let the producer's oldest batch in flight arrive."""
        number, epoch = self.on_the_way[producer].pop(0)
        partition = self.partitions[number]
        if epoch < partition.epochs.get(producer, epoch):
            self._note(f"partition {number} refuses a batch of producer {producer}, epoch {epoch}")
            return
        partition.epochs[producer] = epoch
        offset = partition.end
        partition.end += 1
        partition.open.setdefault(producer, offset)
        text = f"partition {number}, offset {offset}: a batch of producer {producer}, epoch {epoch}"
        self.events.append(Event(text, (number, offset)))

    def commit(self, producer: int) -> None:
        """Let a producer commit, unless it has sent nothing or a batch is in flight."""
        life = self.lives[producer]
        if not life.sent or self.on_the_way[producer]:
            return
        answer = self.codes[producer].end(life.epoch)
        if answer is None:
            self._fence(producer)
            return
        life.added, life.sent = set(), 0
        self._note(f"producer {producer} commits")
        self._mark(producer, answer, f"end({life.epoch})", "commit")

    def expire(self, producer: int) -> None:
        """Let the transaction of a producer time out. The producer does not notice."""
        if not self.ongoing[producer]:
            return
        self._note(f"the transaction of producer {producer} times out")
        self._expired.add(producer)
        self._mark(producer, self.codes[producer].expire(), "expire()", "abort")

    # What there is to see.

    def hanging(self) -> list[tuple[int, int, int]]:
        """Return (partition, producer, first offset) of each transaction that nobody will end."""
        return [
            (number, producer, first)
            for number, partition in self.partitions.items()
            for producer, first in partition.open.items()
            if number not in self.ongoing[producer]
        ]

    def writer(self, number: int, offset: int) -> int:
        """Return the number of the event that wrote this offset. The first event is 1."""
        return next(n for n, one in enumerate(self.events, 1) if one.wrote == (number, offset))

    # Inside.

    def _note(self, text: str) -> None:
        self.events.append(Event(text))

    def _fence(self, producer: int) -> None:
        """Let a producer that was refused start again."""
        self._note(f"producer {producer} is refused: its epoch is old")
        if producer not in self._expired:
            self.fenced.append(producer)
        self.start(producer)

    def _mark(self, producer: int, markers: object, asked: str, kind: str) -> None:
        """Write the markers. Each ends the producer's transaction in its partition."""
        self.ongoing[producer] = set()
        if not isinstance(markers, Sequence) or isinstance(markers, str):
            raise BadAnswerError(f"{asked} answered {markers!r}")
        for marker in markers:
            match marker:
                case (int(number), int(epoch)) if number in PARTITIONS:
                    self._write_marker(producer, number, epoch, kind)
                case _:
                    raise BadAnswerError(f"{asked} answered {markers!r}")

    def _write_marker(self, producer: int, number: int, epoch: int, kind: str) -> None:
        partition = self.partitions[number]
        if epoch < partition.epochs.get(producer, epoch):
            self._note(f"partition {number} refuses a marker of producer {producer}, epoch {epoch}")
            return
        partition.epochs[producer] = epoch
        partition.open.pop(producer, None)
        words = f"{kind} marker of producer {producer}, epoch {epoch}"
        self._note(f"partition {number}, offset {partition.end}: {words}")
        partition.end += 1
