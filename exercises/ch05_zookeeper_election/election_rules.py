"""The right answers of exercise 05-1, and a small world to test candidates in: an embedded
ZooKeeper, and brokers that each try to become the controller.
"""

import json
from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Final, Protocol

from kafka_edu.zk.embedded.zookeeper_server import (
    ConnectReply,
    Effect,
    Notify,
    Reply,
    ZooKeeperServer,
)
from kafka_edu.zk.jute.proto import (
    OPEN_ACL_UNSAFE,
    CheckVersionRequest,
    ConnectRequest,
    CreateRequest,
    DataResponse,
    DeleteRequest,
    ErrorResult,
    ExistsRequest,
    GetDataRequest,
    MultiOp,
    MultiRequest,
    MultiResponse,
    Request,
    SetDataRequest,
    StatResponse,
)
from kafka_edu.zk.zk_client import ZkErrorCode

Came = tuple[object, ...]
Operation = tuple[object, ...]
OFFICE: Final = "/controller"
EPOCH: Final = "/controller_epoch"
EPHEMERAL: Final = 1
PERSISTENT: Final = 0
IDLE: Final = ("wait", "lead")
"""The operations after which a broker does nothing until the next event comes."""
SESSION_MS: Final = 6_000


class RightCandidate:
    """The reference for the learner's Candidate. It gives the right answers."""

    def __init__(self, broker: int) -> None:
        self.broker = broker
        self._epoch = 0
        self._controller = -1
        self._seen: tuple[int | None, bool] = (None, False)
        self._purpose = "run"
        self._tried = 0
        self._asked = ""

    def controller(self) -> int:
        """Return the id of the controller, as far as this broker knows; -1 if it knows of no
        controller.
        """
        return self._controller

    def epoch(self) -> int:
        """Return the epoch with which this broker is the controller; 0 if it is not the
        controller.
        """
        return self._epoch

    def next(self, came: Came) -> Operation:
        """Return the next operation. `came` is an event, or the result of the last operation."""
        operation = self._next(came)
        self._asked = str(operation[0])
        return operation

    def _next(self, came: Came) -> Operation:
        match came:
            case ("office", id_, bool(mine)):
                broker = id_ if isinstance(id_, int) else None
                self._controller = -1 if broker is None else broker
                self._seen = broker, mine
                if self._epoch and not (broker == self.broker and mine):
                    return ("resign",)
                return ("wait",) if self._epoch else self._after_reading()
            case ("resigned",):
                self._epoch = 0
                return self._after_reading()
            case ("epoch", int(epoch), int(version)):
                self._tried = epoch + 1
                if self._purpose == "run":
                    return "run", epoch + 1, version
                return "delete", version
            case ("epoch", None, None):
                return ("create_epoch",)
            case ("won",):
                self._epoch, self._controller = self._tried, self.broker
                return "lead", self._epoch
            case ("session_lost",) if self._epoch:
                self._seen = -1, False  # what was read before is outdated
                return ("resign",)
            case ("created",):
                return ("read_epoch",)
            case ("node_exists",) if self._asked == "create_epoch":
                return ("read_epoch",)
            case _:
                return ("look",)

    def _after_reading(self) -> Operation:
        broker, mine = self._seen
        if broker == -1:
            return ("look",)
        self._purpose = "run" if broker is None else "delete"
        return ("read_epoch",) if broker is None or mine else ("wait",)


class Candidate(Protocol):
    """A simulated broker. `ElectionWorld` calls `next` again and again, each time for one
    operation.
    """

    def next(self, came: Came) -> Operation: ...


class Runner:
    """One broker of the world: its candidate, its connection, and the events that it has not
    handled yet.
    """

    def __init__(self, broker: int, candidate: Candidate) -> None:
        self.broker = broker
        self.candidate = candidate
        self.cnxn = 0
        self.session = 0
        self.answer: Came | None = ("start",)
        """The result of the broker's last operation; None if it waits for an event."""
        self.events: deque[Came] = deque()

    @property
    def has_work(self) -> bool:
        """Whether the broker has a result or an event that it has not handled yet."""
        return self.answer is not None or bool(self.events)


class AtZooKeeper:
    """An embedded ZooKeeper in this process. Its clock stands still at 0 ms."""

    def __init__(self, notify: Callable[[int], None]) -> None:
        """`notify` is called with the connection whose watch has fired."""
        self._notify = notify
        self._server = ZooKeeperServer(tick_time_ms=500, now_ms=0, wall_ms=0)
        self._server.start(0)

    def connect(self) -> tuple[int, int]:
        """Open a connection with a new session. Return the ids of the connection and of the
        session.
        """
        cnxn = self._server.open_cnxn("world")
        request = ConnectRequest(0, 0, SESSION_MS, 0, bytes(16), None)
        effects = self._server.connect(cnxn, request, 0, 0)
        [reply] = [each for each in effects if isinstance(each, ConnectReply)]
        return cnxn, reply.response.session_id

    def expire(self, session: int) -> None:
        """Expire this session, as if its time-out had passed."""
        self._spread(self._server.expire_session(session, 0, 0))

    def do(self, cnxn: int, request: Request) -> tuple[ZkErrorCode, object]:
        """Send one request on this connection. Return the error code and the answer."""
        effects = self._server.request(cnxn, 1, request, 0, 0)
        self._spread(effects)
        [reply] = [each for each in effects if isinstance(each, Reply)]
        return reply.code, reply.body

    def multi(self, cnxn: int, *ops: MultiOp) -> set[ZkErrorCode]:
        """Execute all operations or none of them. Return the errors, or an empty set on success."""
        _, body = self.do(cnxn, MultiRequest(ops))
        results = body.results if isinstance(body, MultiResponse) else ()
        return {result.code for result in results if isinstance(result, ErrorResult)}

    def watch(self, cnxn: int) -> int | None:
        """Watch /controller. Return the id of the session that owns the znode; None if there is no
        such znode.
        """
        _, body = self.do(cnxn, ExistsRequest(OFFICE, True))
        return body.stat.ephemeral_owner if isinstance(body, StatResponse) else None

    def office(self, cnxn: int) -> int | None:
        """Return the broker id in /controller; None: there is no such znode."""
        _, body = self.do(cnxn, GetDataRequest(OFFICE, False))
        return _id_in(body) if isinstance(body, DataResponse) else None

    def create(self, cnxn: int, broker: int) -> bool:
        """Create /controller with this broker's id. Return False if it exists already."""
        code, _ = self.do(cnxn, _creation(broker))
        return code is ZkErrorCode.OK

    def delete(self, cnxn: int) -> bool:
        """Delete /controller. Return False if it does not exist."""
        code, _ = self.do(cnxn, DeleteRequest(OFFICE, -1))
        return code is ZkErrorCode.OK

    def _spread(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Notify):
                self._notify(effect.cnxn)


class ElectionWorld:
    """An embedded ZooKeeper, and brokers that each try to become the controller. A test controls
    each step.
    """

    def __init__(self, candidates: Sequence[Callable[[int], Candidate]]) -> None:
        self._zookeeper = AtZooKeeper(self._fired)
        self.runners = [Runner(broker, make(broker)) for broker, make in enumerate(candidates)]
        self._hand, _ = self._zookeeper.connect()
        for runner in self.runners:
            runner.cnxn, runner.session = self._zookeeper.connect()

    # Actions of a test on the world.

    def step(self, runner: Runner) -> None:
        """Let one broker handle its result or next event, and perform the operation it returns."""
        if runner.answer is not None:
            came, runner.answer = runner.answer, None
        else:
            came = runner.events.popleft()
        operation = runner.candidate.next(came)
        if operation and operation[0] not in IDLE:
            runner.answer = self._perform(runner, operation)

    def settle(self, random: Random, most: int = 400) -> None:
        """Let the brokers work, in random order, until all of them wait. Raises AssertionError if
        they need more than `most` steps.
        """
        for _ in range(most):
            ready = [runner for runner in self.runners if runner.has_work]
            if not ready:
                return
            self.step(random.choice(ready))
        raise AssertionError(f"after {most} steps the brokers are still running for the office")

    def go_on(self, random: Random, steps: int) -> None:
        """Let brokers that have work do this many steps, in random order."""
        for _ in range(steps):
            ready = [runner for runner in self.runners if runner.has_work]
            if ready:
                self.step(random.choice(ready))

    def disturb(self, random: Random) -> None:
        """Make a random disturbance: delete /controller, write an id into it, or expire a broker's
        session.
        """
        match random.choice("dwe"):
            case "d":
                self.delete_by_hand()
            case "w":
                self.write_by_hand(random.randrange(len(self.runners)))
            case _:
                self.expire(random.choice(self.runners))

    def delete_by_hand(self) -> None:
        """Delete /controller, as an operator could do with a shell."""
        self._zookeeper.delete(self._hand)

    def write_by_hand(self, broker: int) -> None:
        """Write this broker's id into /controller, as an operator could do."""
        self._zookeeper.do(self._hand, SetDataRequest(OFFICE, _office(broker), -1))

    def expire(self, runner: Runner) -> None:
        """Expire the session of a broker, though its process runs on."""
        self._zookeeper.expire(runner.session)
        runner.answer = None  # an answer that has not arrived is lost with the connection
        runner.events.clear()
        runner.events.append(("session_lost",))
        runner.cnxn, runner.session = self._zookeeper.connect()

    # The state of the world, for checks.

    def office(self) -> int | None:
        """Return the broker id in /controller; None: there is no such znode."""
        return self._zookeeper.office(self._hand)

    def epoch(self) -> int:
        """Return the epoch in /controller_epoch; 0: there is no such znode."""
        _, body = self._zookeeper.do(self._hand, GetDataRequest(EPOCH, False))
        return int(body.data or b"0") if isinstance(body, DataResponse) else 0

    # Private methods.

    def _fired(self, cnxn: int) -> None:
        for runner in self.runners:
            if runner.cnxn == cnxn:
                runner.events.append(("fired",))

    def _perform(self, runner: Runner, operation: Operation) -> Came:
        zookeeper, cnxn = self._zookeeper, runner.cnxn
        match operation:
            case ("look",):
                owner = zookeeper.watch(cnxn)
                if owner is None:
                    return "office", None, False
                return "office", zookeeper.office(cnxn), owner == runner.session
            case ("read_epoch",):
                _, body = zookeeper.do(cnxn, GetDataRequest(EPOCH, False))
                if not isinstance(body, DataResponse):
                    return "epoch", None, None
                return "epoch", int(body.data or b"0"), body.stat.version
            case ("create_epoch",):
                request = CreateRequest(EPOCH, b"0", OPEN_ACL_UNSAFE, PERSISTENT)
                code, _ = zookeeper.do(cnxn, request)
                return ("created",) if code is ZkErrorCode.OK else ("node_exists",)
            case ("run", int(epoch), int(version)):
                written = SetDataRequest(EPOCH, str(epoch).encode(), version)
                failed = zookeeper.multi(cnxn, _creation(runner.broker), written)
                if ZkErrorCode.NODE_EXISTS in failed:
                    return ("node_exists",)
                return ("bad_version",) if failed else ("won",)
            case ("delete", int(version)):
                checked = CheckVersionRequest(EPOCH, version)
                failed = zookeeper.multi(cnxn, checked, DeleteRequest(OFFICE, -1))
                if ZkErrorCode.NO_NODE in failed:
                    return ("no_node",)
                return ("bad_version",) if failed else ("deleted",)
            case ("resign",):
                return ("resigned",)
            case _:
                raise ValueError(f"{operation!r} is no operation")


def _creation(broker: int) -> CreateRequest:
    return CreateRequest(OFFICE, _office(broker), OPEN_ACL_UNSAFE, EPHEMERAL)


def _office(broker: int) -> bytes:
    return json.dumps({"version": 1, "brokerid": broker, "timestamp": "0"}).encode()


def _id_in(body: object) -> int | None:
    return (
        int(json.loads(body.data or b"{}")["brokerid"]) if isinstance(body, DataResponse) else None
    )
