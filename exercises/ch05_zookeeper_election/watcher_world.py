"""The world of exercise 05-5: brokers that watch /controller at the embedded ZooKeeper's core."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, NamedTuple, Protocol

from .election_rules import OFFICE, AtZooKeeper

OPERATIONS: Final = ("watch", "read", "create", "wait")
MOST_STEPS: Final = 400


class Watches(Protocol):
    """A broker that is asked for its next operation by the name of what came."""

    def ask(self, what: str, *arguments: object) -> object:
        """Return the next operation."""
        ...

    def knows(self) -> object:
        """Return who the controller is, as the broker believes."""
        ...


class Event(NamedTuple):
    """One event of a run."""

    broker: int
    """-1: somebody, by hand."""
    text: str
    changes: bool
    """Whether /controller is another one after it."""


class BadOperationError(Exception):
    """A broker answered something that is no operation."""


class RestlessError(Exception):
    """The brokers never wait."""


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
    """ZooKeeper, and brokers that watch one znode. A script drives it."""

    def __init__(self, make: Callable[[int], Watches], brokers: int) -> None:
        self._zookeeper = AtZooKeeper(self._notify)
        self._hand = self._zookeeper.connect()[0]
        self._runners = [
            _Runner(broker, make(broker), self._zookeeper.connect()[0]) for broker in range(brokers)
        ]
        self.events: list[Event] = []

    def step(self, random: Random) -> bool:
        """Let a broker that has work go on. Return False if there is none. Raises
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
        """Let all brokers go on until they wait. Raises BadOperationError, and RestlessError."""
        for _ in range(MOST_STEPS):
            if not self.step(random):
                return
        raise RestlessError

    def delete_by_hand(self) -> None:
        """Delete /controller."""
        if self._zookeeper.delete(self._hand):
            self.events.append(Event(-1, f"{OFFICE} is deleted", True))

    @property
    def office(self) -> int:
        """Who stands in /controller; -1: nobody."""
        found = self._zookeeper.office(self._hand)
        return -1 if found is None else found

    def beliefs(self) -> Sequence[object]:
        """Return whom each broker takes for the controller."""
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
