"""The world of exercise 05-5: brokers that watch /controller at an embedded ZooKeeper."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, NamedTuple, Protocol

from .election_rules import OFFICE, AtZooKeeper

OPERATIONS: Final = ("watch", "read", "create", "wait")
MOST_STEPS: Final = 400


class Watches(Protocol):
    """The code of a broker in `WatcherWorld`, which calls the code again and again for its next
    operation.
    """

    def ask(self, what: str, *arguments: object) -> object:
        """Call the broker's method named `what`. Return the operation that it returns."""
        ...

    def knows(self) -> object:
        """Return the id of the broker that this broker believes to be the controller."""
        ...


class Event(NamedTuple):
    """One event of a run, as a line of text."""

    broker: int
    """The id of the broker that acted; -1 if an operator acted by hand."""
    text: str
    changes: bool
    """Whether this event has created or deleted /controller."""


class BadOperationError(Exception):
    """A broker returned something that is not one of the operations."""


class RestlessError(Exception):
    """The brokers are still busy after as many steps as a test allows."""


class _Runner:
    def __init__(self, broker: int, code: Watches, cnxn: int) -> None:
        self.broker = broker
        self.code = code
        self.cnxn = cnxn
        self.answer: tuple[str, tuple[object, ...]] | None = ("begin", ())
        self.fired = 0

    @property
    def has_work(self) -> bool:
        return self.answer is not None or self.fired > 0


class WatcherWorld:
    """An embedded ZooKeeper, and brokers that watch /controller. A test controls each step."""

    def __init__(self, make: Callable[[int], Watches], brokers: int) -> None:
        self._zookeeper = AtZooKeeper(self._notify)
        self._hand = self._zookeeper.connect()[0]
        self._runners = [
            _Runner(broker, make(broker), self._zookeeper.connect()[0]) for broker in range(brokers)
        ]
        self.events: list[Event] = []

    def step(self, random: Random) -> bool:
        """Let one broker that has work do one step. Return False if no broker has work. Raises
        BadOperationError.
        """
        ready = [runner for runner in self._runners if runner.has_work]
        if not ready:
            return False
        runner = random.choice(ready)
        if runner.answer is not None:
            what, arguments = runner.answer
            runner.answer = None
        else:
            what, arguments = "fired", ()
            runner.fired -= 1
        operation = runner.code.ask(what, *arguments)
        if operation not in OPERATIONS:
            raise BadOperationError(f"{what} returned {operation!r}, which is no operation")
        if operation != "wait":
            runner.answer = self._perform(runner, str(operation))
        return True

    def settle(self, random: Random) -> None:
        """Let the brokers work until all wait. Raises BadOperationError, and RestlessError."""
        for _ in range(MOST_STEPS):
            if not self.step(random):
                return
        raise RestlessError

    def delete_by_hand(self) -> None:
        """Delete /controller, as an operator could do with a shell."""
        if self._zookeeper.delete(self._hand):
            self.events.append(Event(-1, f"{OFFICE} is deleted", True))

    @property
    def office(self) -> int:
        """The id of the broker in /controller; -1 if there is no such znode."""
        found = self._zookeeper.office(self._hand)
        return -1 if found is None else found

    def beliefs(self) -> Sequence[object]:
        """Return what each broker believes: the id of the broker that is the controller."""
        return [runner.code.knows() for runner in self._runners]

    def _notify(self, cnxn: int) -> None:
        for runner in self._runners:
            if runner.cnxn == cnxn:
                runner.fired += 1

    def _perform(self, runner: _Runner, operation: str) -> tuple[str, tuple[object, ...]]:
        match operation:
            case "watch":
                self._zookeeper.watch(runner.cnxn)
                self._tell(runner, f"watches {OFFICE}")
                return "watching", ()
            case "read":
                found = self._zookeeper.office(runner.cnxn)
                self._tell(runner, f"reads: {'nobody' if found is None else f'broker {found}'}")
                return "read", (found,)
            case _:
                made = self._zookeeper.create(runner.cnxn, runner.broker)
                self._tell(runner, f"creates {OFFICE}" if made else "cannot create it", made)
                return ("created" if made else "node_exists"), ()

    def _tell(self, runner: _Runner, text: str, changes: bool = False) -> None:
        self.events.append(Event(runner.broker, text, changes))
