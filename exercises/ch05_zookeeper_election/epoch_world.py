"""The world of exercise 05-6: brokers at an embedded ZooKeeper become controller in two steps. They
create /controller, and then they raise the epoch in /controller_epoch.
"""

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple, Protocol

from kafka_edu.zk.jute.proto import (
    OPEN_ACL_UNSAFE,
    CreateRequest,
    DataResponse,
    GetDataRequest,
    SetDataRequest,
)
from kafka_edu.zk.zk_client import ZkErrorCode

from .election_rules import EPOCH, OFFICE, PERSISTENT, AtZooKeeper

IDLE: Final = ("wait", "lead")
MOST_STEPS: Final = 600
FIRST_EPOCH: Final = 1

Answer = tuple[str, tuple[object, ...]]
"""The call that a broker gets next: the name of its method, and the arguments."""


class Successor(Protocol):
    """The code of a broker in `EpochWorld`, which calls the code again and again for its next
    operation.
    """

    def ask(self, what: str, *arguments: object) -> object:
        """Call the broker's method named `what`. Return the operation that it returns."""
        ...


class Event(NamedTuple):
    """One event of a run, as a line of text."""

    broker: int
    """The id of the broker that acted; -1 if an operator or ZooKeeper acted."""
    text: str
    writes: int = 0
    """The epoch that this event wrote; 0 if it wrote none."""


class Led(NamedTuple):
    """A broker, and an epoch that it began to lead."""

    epoch: int
    broker: int
    event: int
    """The number of the event that wrote the epoch, from 1; 0 if this broker wrote none."""


class BadOperationError(Exception):
    """A broker returned something that is not one of the operations."""


class RestlessError(Exception):
    """The brokers are still busy after as many steps as a test allows."""


class Runner:
    """A broker of the world: its code, its connection, and the events that it has not handled
    yet.
    """

    def __init__(self, broker: int, code: Successor) -> None:
        self.broker = broker
        self.code = code
        self.cnxn = 0
        self.session = 0
        self.answer: Answer | None = ("begin", ())
        self.events: deque[str] = deque()
        self.leads = 0
        """The epoch with which this broker is the controller; 0 if it is not the controller."""
        self.wrote = 0
        """The number of the event by which this broker last wrote an epoch; 0 if it wrote no
        epoch.
        """

    @property
    def has_work(self) -> bool:
        """Whether the broker has a result or an event that it has not handled yet."""
        return self.answer is not None or bool(self.events)


class EpochWorld:
    """An embedded ZooKeeper, and brokers that each try to become the controller. A test controls
    each step.
    """

    def __init__(self, make: Callable[[int], Successor], brokers: int) -> None:
        self._zookeeper = AtZooKeeper(lambda _: None)
        self._hand = self._zookeeper.connect()[0]
        first = str(FIRST_EPOCH).encode()
        self._zookeeper.do(self._hand, CreateRequest(EPOCH, first, OPEN_ACL_UNSAFE, PERSISTENT))
        self.runners = [Runner(broker, make(broker)) for broker in range(brokers)]
        for runner in self.runners:
            runner.cnxn, runner.session = self._zookeeper.connect()
        self.events: list[Event] = []
        self.led: list[Led] = []
        """Each epoch with which a broker became the controller, in the order of time."""

    # Actions of a test on the world.

    def step(self, random: Random) -> bool:
        """Let one broker that has work do one step. Return False if no broker has work. Raises
        BadOperationError.
        """
        ready = [runner for runner in self.runners if runner.has_work]
        if not ready:
            return False
        runner = random.choice(ready)
        if runner.answer is not None:
            (what, arguments), runner.answer = runner.answer, None
        else:
            what, arguments = runner.events.popleft(), ()
            runner.leads = 0
        operation = runner.code.ask(what, *arguments)
        match operation:
            case ("wait",):
                if self.holder() is None:
                    runner.events.append("gone")
            case ("lead", int(epoch)) if not isinstance(epoch, bool):
                self._lead(runner, epoch)
            case ("read_epoch",):
                runner.answer = self._read(runner)
            case ("create",):
                runner.answer = self._create(runner)
            case ("set_epoch", int(epoch), int(version)):
                runner.answer = self._set(runner, epoch, version)
            case _:
                raise BadOperationError(f"{what} returned {operation!r}, which is no operation")
        return True

    def settle(self, random: Random) -> None:
        """Let the brokers work until each of them waits or is the controller. Raises
        BadOperationError, and RestlessError.
        """
        for _ in range(MOST_STEPS):
            if not self.step(random):
                return
        raise RestlessError

    def delete_by_hand(self) -> None:
        """Delete /controller, as an operator could do with a shell."""
        if self._zookeeper.delete(self._hand):
            self.events.append(Event(-1, f"{OFFICE} is deleted"))
            self._tell_gone()

    def expire(self, broker: int) -> None:
        """Expire the session of a broker. All its later operations use a new session. The broker
        learns of the new session only when its last operation has been answered.
        """
        runner = self.runners[broker]
        held = self.holder() == broker
        self._zookeeper.expire(runner.session)
        runner.cnxn, runner.session = self._zookeeper.connect()
        also = f", {OFFICE} goes with it" if held else ""
        self.events.append(Event(-1, f"the session of broker {broker} expires{also}"))
        runner.events.append("expired")
        if held:
            self._tell_gone(but=broker)

    # The state of the world, for checks.

    def holder(self) -> int | None:
        """Return the id of the broker in /controller; None if there is no such znode."""
        return self._zookeeper.office(self._hand)

    def leaders(self) -> dict[int, int]:
        """Return a dict from each broker that leads now to its epoch."""
        return {runner.broker: runner.leads for runner in self.runners if runner.leads}

    # Private methods.

    def _tell_gone(self, but: int = -1) -> None:
        for runner in self.runners:
            if runner.broker != but and runner.answer is None and "gone" not in runner.events:
                runner.events.append("gone")

    def _lead(self, runner: Runner, epoch: int) -> None:
        runner.leads = epoch
        self.led.append(Led(epoch, runner.broker, runner.wrote))
        self._note(runner, f"leads epoch {epoch}")
        if self.holder() != runner.broker and not runner.events:
            runner.events.append("gone")

    def _read(self, runner: Runner) -> Answer:
        _, body = self._zookeeper.do(runner.cnxn, GetDataRequest(EPOCH, False))
        assert isinstance(body, DataResponse)
        epoch, version = int(body.data or b"0"), body.stat.version
        self._note(runner, f"reads epoch {epoch}, version {version}")
        return "epoch", (epoch, version)

    def _create(self, runner: Runner) -> Answer:
        if self._zookeeper.create(runner.cnxn, runner.broker):
            self._note(runner, f"creates {OFFICE}")
            return "created", ()
        mine = self._zookeeper.watch(runner.cnxn) == runner.session
        self._note(runner, f"cannot create {OFFICE}: {'its own' if mine else 'another'} is there")
        return "node_exists", (mine,)

    def _set(self, runner: Runner, epoch: int, version: int) -> Answer:
        request = SetDataRequest(EPOCH, str(epoch).encode(), version)
        code, _ = self._zookeeper.do(runner.cnxn, request)
        condition = "" if version == -1 else f" at version {version}"
        if code is not ZkErrorCode.OK:
            self._note(runner, f"may not write epoch {epoch}{condition}")
            return "bad_version", ()
        self._note(runner, f"writes epoch {epoch}{condition}", epoch)
        runner.wrote = len(self.events)
        return "epoch_set", ()

    def _note(self, runner: Runner, text: str, writes: int = 0) -> None:
        self.events.append(Event(runner.broker, text, writes))
