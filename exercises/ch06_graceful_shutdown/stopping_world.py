"""The world of exercise 06-4: a broker that stops, its clients, and its disks."""

from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple, Protocol

MOST_OPERATIONS: Final = 60
NOTHING: Final = 0


class Stopper(Protocol):
    """The code of a broker in the simulated world, which calls the code again and again for its
    next operation.
    """

    def next(self, came: str) -> object:
        """Return the next operation. `came` says how the last operation ended."""
        ...


class Event(NamedTuple):
    """One event of a run, as a line of text."""

    text: str
    acked: int = NOTHING
    """The number of the record that this event acknowledged; NOTHING if it acknowledged no
    record.
    """
    flushed: str = ""
    """The name of the disk that this event flushed; "" if it flushed no disk."""


class Written(NamedTuple):
    """A record that was written to a disk and acknowledged."""

    record: int
    disk: str
    event: int
    """The number of the event that wrote the record. The first event is 1."""


class BadOperationError(Exception):
    """A broker returned something that is not one of the operations."""


class EndlessError(Exception):
    """The broker has not ended after as many operations as a test allows."""


class StoppingWorld:
    """One broker, from SIGTERM until its machine is switched off. A test controls each step."""

    def __init__(self, broker: Stopper, disks: Sequence[str], failing: Sequence[str] = ()) -> None:
        """`failing` names the disks whose flush fails."""
        self._broker = broker
        self._disks = tuple(disks)
        self._failing = frozenset(failing)
        self._came = "begin"
        self._doors_open = True
        self._waiting: list[int] = []
        self._records = 0
        self._unflushed: list[Written] = []
        self.events: list[Event] = []
        self.failed: set[str] = set()
        """The names of the disks whose flush has failed."""
        self.marked: dict[str, int] = {}
        """The disks that were marked as clean: name → number of the event that marked it."""
        self.ended = False

    # Actions of a test on the world.

    def run(self, random: Random) -> None:
        """Let clients and broker work to the end. Raises BadOperationError, and EndlessError."""
        for _ in range(MOST_OPERATIONS):
            for _ in range(random.randint(0, 3)):
                self.client(random)
            self.operate()
            if self.ended:
                return
        raise EndlessError

    def client(self, random: Random, *, answers: bool = True) -> None:
        """Let a client send a request. If `answers` is true, a waiting request may be answered
        instead.
        """
        if answers and self._waiting and random.random() < 0.6:
            self._answer(random.choice(self._waiting), random)
        elif self._doors_open:
            self._records += 1
            self._waiting.append(self._records)
            self._note(Event(f"takes the request with record {self._records}"))

    def operate(self) -> None:
        """Perform the next operation of the broker. Raises BadOperationError."""
        operation = self._broker.next(self._came)
        self._came = "done"
        match operation:
            case ("close_doors",):
                self._doors_open = False
                self._note(Event("closes its doors"))
            case ("finish_requests",):
                self._note(Event("finishes its requests"))
                random = Random(len(self.events))
                while self._waiting:
                    self._answer(self._waiting[0], random)
            case ("flush", str(disk)) if disk in self._disks:
                self._flush(disk)
            case ("mark_clean", str(disk)) if disk in self._disks:
                self._note(Event(f"marks disk {disk} as clean"))
                self.marked[disk] = len(self.events)
            case ("end",):
                self._note(Event("ends, and the machine is switched off"))
                self.ended = True
            case _:
                raise BadOperationError(f"{operation!r} is no operation")

    # The state of the world, for checks.

    def waiting(self) -> tuple[int, ...]:
        """Return the numbers of the records whose requests have no answer yet."""
        return tuple(self._waiting)

    def has_done(self, what: str) -> bool:
        """Return whether there is an event whose text begins with the words `what`."""
        return any(event.text.startswith(what) for event in self.events)

    def lost(self) -> tuple[Written, ...]:
        """Return the acknowledged records that would be lost if the machine were switched off now.
        They are not flushed, and their disk is marked as clean, so the next start would not check
        them.
        """
        return tuple(one for one in self._unflushed if one.disk in self.marked)

    def last_flush(self, disk: str) -> int:
        """Return the number of the last event that flushed this disk; 0 if there is no such
        event.
        """
        return max((n for n, e in enumerate(self.events, 1) if e.flushed == disk), default=0)

    # Private methods.

    def _note(self, event: Event) -> None:
        self.events.append(event)

    def _answer(self, record: int, random: Random) -> None:
        disk = random.choice(self._disks)
        self._waiting.remove(record)
        self._note(Event(f"writes record {record} to disk {disk}, and acknowledges it", record))
        self._unflushed.append(Written(record, disk, len(self.events)))

    def _flush(self, disk: str) -> None:
        if disk in self._failing:
            self.failed.add(disk)
            self._came = "disk_error"
            self._note(Event(f"flushes disk {disk}: the disk cannot be written"))
            return
        self._note(Event(f"flushes disk {disk}", flushed=disk))
        self._unflushed = [one for one in self._unflushed if one.disk != disk]
