"""Send requests to ZooKeeper: in batches, again after a lost connection, and with a check for the
controller's writes (Kafka: the lower half of KafkaZkClient.scala).

- The requests of a batch are sent together, never one after the other (spec Z6). At most
  `max_in_flight` requests wait for an answer at a time (zookeeper.max.in.flight.requests). Kafka's
  default is 10. The default here is 1,000, for two reasons: each round of requests costs four
  switches between the loop and kazoo's thread, and ZooKeeper forces its log to disk once for all
  writes that have arrived. An example: if a round trip takes 1 ms, the states of 1,000 partitions
  take 1 s one by one, and 100 ms with 10 requests at a time. `bench zk-pipeline` draws the curve.
- After a lost connection, a request waits until the session is connected again, and is then sent
  again (Kafka: retryRequestUntilConnected). ZooKeeper may have performed the first attempt already.
  Each method's docstring says how the method recognises this. If the session has expired, the
  request is not sent again, and the caller gets ZkError(SESSION_EXPIRED).
- Every write of the controller is a multi that also checks the version of /controller_epoch. So a
  broker that is no longer the controller, but does not know it yet, can change nothing. It gets
  ControllerMovedError (spec C8; Kafka from 2.2).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeVar

from kafka_edu.common.time import Time
from kafka_edu.zk.zk_client import (
    CheckOp,
    DeleteOp,
    Op,
    OpResult,
    SessionState,
    Stat,
    WatchedEvent,
    ZkClient,
    ZkError,
    ZkErrorCode,
)
from kafka_edu.zk.zk_data import ControllerEpochZNode

T = TypeVar("T")
K = TypeVar("K")

RETRY_PAUSE_MS: Final = 10


class ControllerMovedError(Exception):
    """Raised if another broker is the controller now (Kafka: ControllerMovedException)."""


class ZkRequests:
    """Sends the requests of one session. Any task of its asyncio loop may use it. Next hop:
    ZkClient.
    """

    def __init__(self, zk: ZkClient, time: Time, max_in_flight: int) -> None:
        self._zk = zk
        self._time = time
        self._max_in_flight = max_in_flight
        self._in_flight = asyncio.Semaphore(max_in_flight)
        self._connected = asyncio.Event()
        self._closed = False
        self._session = 0
        self._previous_sessions: set[int] = set()
        self._on_session: Callable[[SessionState], None] = lambda _: None

    @property
    def session_id(self) -> int:
        return self._zk.session_id

    @property
    def watch_after_zxid(self) -> int:
        return self._zk.watch_after_zxid

    async def start(
        self,
        on_watch: Callable[[WatchedEvent], None],
        on_session: Callable[[SessionState], None],
        timeout_ms: float,
    ) -> None:
        """Connect to ZooKeeper. `on_watch` is called for each watch that fires, and `on_session`
        for each session change. Raises ZkError(CONNECTION_LOSS) after `timeout_ms`
        (zookeeper.connection.timeout.ms).
        """
        self._on_session = on_session
        await self._zk.start(on_watch, self._session_changed, timeout_ms)
        self._session = self._zk.session_id
        self._connected.set()

    def _session_changed(self, state: SessionState) -> None:
        match state:
            case SessionState.CONNECTED:
                self._session = self._zk.session_id
                self._connected.set()
            case SessionState.DISCONNECTED:
                self._connected.clear()
            case SessionState.EXPIRED:
                self._previous_sessions.add(self._session)
                self._connected.clear()
            case SessionState.CLOSED | SessionState.AUTH_FAILED:
                self._closed = True
                self._connected.set()  # so waiting requests continue and get the error
        self._on_session(state)

    async def close(self) -> None:
        self._closed = True
        self._connected.set()
        await self._zk.close()

    async def _send(self, request: Callable[[], Awaitable[T]]) -> T:
        """Send one request and return its answer. At most `max_in_flight` requests run at a time.
        After a lost connection, send the request again.
        """
        while True:
            await self._connected.wait()
            try:
                async with self._in_flight:
                    return await request()
            except ZkError as error:
                if error.code is not ZkErrorCode.CONNECTION_LOSS or self._closed:
                    raise
            # This pause gives the state change DISCONNECTED time to arrive. Then the loop above
            # waits for CONNECTED.
            await self._time.sleep(RETRY_PAUSE_MS)

    async def _send_all(
        self, requests: Mapping[K, Callable[[], Awaitable[T]]]
    ) -> dict[K, T | ZkError]:
        """Send many requests at once. Return each key's answer or error, in the order of
        `requests`.

        The number of tasks is at most `max_in_flight`. Each task sends one request after the other.
        A separate task for each of several thousand requests would cost more than the requests.
        """
        outcome: dict[K, T | ZkError] = {}
        left = iter(requests.items())

        async def send_in_turn() -> None:
            for key, request in left:
                try:
                    outcome[key] = await self._send(request)
                except ZkError as error:
                    # The traceback refers to its frames, and they refer to `outcome`. Dropping it
                    # breaks this cycle, so the memory is freed without the garbage collector.
                    outcome[key] = error.with_traceback(None)

        senders = min(self._max_in_flight, len(requests))
        for ended in await asyncio.gather(
            *(send_in_turn() for _ in range(senders)), return_exceptions=True
        ):
            if ended is not None:
                raise ended
        return {key: outcome[key] for key in requests}

    # Reading.

    async def get(self, path: str, *, watch: bool = False) -> tuple[bytes, Stat] | None:
        """Return the znode's data and Stat. If the znode does not exist, return None and set no
        watch.
        """
        try:
            return await self._send(lambda: self._zk.get(path, watch=watch))
        except ZkError as error:
            if error.code is ZkErrorCode.NO_NODE:
                return None
            raise

    async def get_all(
        self, paths: Mapping[K, str], *, watch: bool = False
    ) -> dict[K, tuple[bytes, Stat]]:
        """Return data and Stat of each path that exists, in the order of `paths`."""
        requests = {
            key: lambda path=path: self._zk.get(path, watch=watch) for key, path in paths.items()
        }
        found: dict[K, tuple[bytes, Stat]] = {}
        for key, answer in (await self._send_all(requests)).items():
            if not isinstance(answer, ZkError):
                found[key] = answer
            elif answer.code is not ZkErrorCode.NO_NODE:
                raise answer
        return found

    async def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        return await self._send(lambda: self._zk.exists(path, watch=watch))

    async def children(self, path: str, *, watch: bool = False) -> list[str]:
        """Return the sorted names of the znode's children. The list is empty if the znode does not
        exist.
        """
        try:
            return (await self._send(lambda: self._zk.get_children(path, watch=watch)))[0]
        except ZkError as error:
            if error.code is ZkErrorCode.NO_NODE:
                return []
            raise

    # Writing.

    async def create(self, path: str, data: bytes | None = None) -> bool:
        """Create a persistent znode and its missing parents. Return False if the znode existed
        already.
        """
        try:
            await self._send(lambda: self._zk.create(path, data))
        except ZkError as error:
            if error.code is ZkErrorCode.NODE_EXISTS:
                return False
            if error.code is not ZkErrorCode.NO_NODE:
                raise
            await self.create(path.rpartition("/")[0])
            return await self.create(path, data)
        return True

    async def create_new(self, path: str, data: bytes | None = None) -> None:
        """Create a znode and its missing parents, like `create`. Raise ZkError(NODE_EXISTS) if the
        znode exists already.
        """
        if not await self.create(path, data):
            raise ZkError(ZkErrorCode.NODE_EXISTS, path)

    async def create_sequential(self, path: str, data: bytes) -> str:
        """Create a znode whose name is `path` followed by ZooKeeper's next number. Return the whole
        path.

        If the answer is lost, the request is sent again, and then there may be two znodes. Readers
        of these znodes must accept duplicates.
        """
        return (await self._send(lambda: self._zk.create(path, data, sequential=True)))[0]

    async def create_ephemeral(self, path: str, data: bytes) -> Stat:
        """Create an ephemeral znode, which exists as long as this session (Kafka:
        checkedEphemeralCreate). Raises ZkError(NODE_EXISTS) if another client's session owns the
        znode.

        If this session owns the znode already, its first answer was lost, and the call succeeds. If
        an earlier session of this client owns the znode, ZooKeeper has not yet removed it. In that
        case this method deletes the znode and creates it again (KAFKA-7165).
        """
        try:
            return (await self._send(lambda: self._zk.create(path, data, ephemeral=True)))[1]
        except ZkError as error:
            if error.code is not ZkErrorCode.NODE_EXISTS:
                raise
        found = await self.get(path)
        if found is not None:
            stat = found[1]
            if stat.ephemeral_owner == self._zk.session_id:
                return stat
            if stat.ephemeral_owner not in self._previous_sessions:
                raise ZkError(ZkErrorCode.NODE_EXISTS, path)
            await self.delete(path)
        return await self.create_ephemeral(path, data)

    async def set(self, path: str, data: bytes) -> Stat:
        return await self._send(lambda: self._zk.set(path, data))

    async def set_or_create(self, path: str, data: bytes) -> None:
        try:
            await self.set(path, data)
        except ZkError as error:
            if error.code is not ZkErrorCode.NO_NODE:
                raise
            if not await self.create(path, data):
                await self.set_or_create(path, data)

    async def conditional_set(self, path: str, data: bytes, version: int) -> int | None:
        """Set the data if the znode has `version`. Return the new version, or None if the znode has
        a different version or does not exist.

        The answer to the first attempt may have been lost. If the znode then has our data and the
        version after `version`, that attempt counts as successful.
        """
        attempts = 0

        def attempt() -> Awaitable[Stat]:
            nonlocal attempts
            attempts += 1
            return self._zk.set(path, data, version)

        try:
            return (await self._send(attempt)).version
        except ZkError as error:
            if error.code not in (ZkErrorCode.BAD_VERSION, ZkErrorCode.NO_NODE):
                raise
        found = await self.get(path) if attempts > 1 else None
        return (
            found[1].version
            if found and found[0] == data and found[1].version == version + 1
            else None
        )

    async def delete(self, path: str) -> None:
        """Delete a znode. Do nothing if the znode does not exist."""
        try:
            await self._send(lambda: self._zk.delete(path))
        except ZkError as error:
            if error.code is not ZkErrorCode.NO_NODE:
                raise

    async def delete_recursive(self, path: str, epoch_zk_version: int) -> None:
        """Delete a znode and all znodes below it, as the controller. The deepest znodes are deleted
        first.
        """
        for name in await self.children(path):
            await self.delete_recursive(f"{path}/{name}", epoch_zk_version)
        await self.fenced_or_raise(
            {path: DeleteOp(path)}, epoch_zk_version, unless=ZkErrorCode.NO_NODE
        )

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        return await self._send(lambda: self._zk.multi(ops))

    async def fenced(
        self, ops: Mapping[K, Op], epoch_zk_version: int
    ) -> dict[K, OpResult | ZkError]:
        """Send many writes at once, each together with a check that this broker is still the
        controller. Return each key's result or error. Raises ControllerMovedError if another
        controller was elected.
        """
        check = CheckOp(ControllerEpochZNode.PATH, epoch_zk_version)
        requests = {key: lambda op=op: self._zk.multi((check, op)) for key, op in ops.items()}
        outcome: dict[K, OpResult | ZkError] = {}
        suspect = False
        for key, answer in (await self._send_all(requests)).items():
            outcome[key] = answer if isinstance(answer, ZkError) else answer[1]
            suspect = suspect or (
                isinstance(answer, ZkError)
                and answer.code in (ZkErrorCode.BAD_VERSION, ZkErrorCode.NO_NODE)
            )
        # Either the check or the write itself has failed. The version of /controller_epoch shows
        # which.
        if suspect:
            found = await self.get(ControllerEpochZNode.PATH)
            if found is None or found[1].version != epoch_zk_version:
                raise ControllerMovedError(
                    f"/controller_epoch has moved on from version {epoch_zk_version}"
                )
        return outcome

    async def fenced_or_raise(
        self, ops: Mapping[K, Op], epoch_zk_version: int, *, unless: ZkErrorCode
    ) -> None:
        """Send many writes like `fenced`, and raise the first error. Errors with the code `unless`
        are ignored.
        """
        for answer in (await self.fenced(ops, epoch_zk_version)).values():
            if isinstance(answer, ZkError) and answer.code is not unless:
                raise answer
