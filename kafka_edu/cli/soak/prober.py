"""A client that speaks the protocol itself, and measures how long each single request waits.

It runs in a thread with its own event loop. It has several connections to each broker. Each
connection sends bursts of up to 64 requests of all kinds, without waiting for answers within a
burst.

Our own clients cannot be used here, because they send no such bursts, and they resend requests by
themselves.
"""

import asyncio
import random
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Final

from kafka_edu.clients.answer_deadlines import AnswerDeadlines, Answers, Pauses, look_at_all
from kafka_edu.clients.probe_requests import Probe, ProbeRequests
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.types import ProtocolError

CONNECTIONS_PER_BROKER: Final = 3
BURSTS: Final = (1, 4, 16, 64)
GIVE_UP_MS: Final = 90_000
"""The client waits this long (in ms) for an answer, to see whether it comes late or never."""
_CONNECT_TIMEOUT_MS: Final = 5_000
_LOOK_EVERY_S: Final = 0.25
_REST_S: Final = (0.05, 1.5)


_BEGAN: Final = time.monotonic()


def now_ms() -> float:
    """Return the time since this process began, in ms.

    All measurements of the soak use this clock.
    """
    return (time.monotonic() - _BEGAN) * 1000


class Prober:
    """Own the probe connections. The results in `answers` may be read at any time."""

    def __init__(
        self,
        ports: Mapping[int, int],
        partitions: Sequence[TopicPartition],
        pauses: Pauses,
        seed: int,
        grace_ms: float,
    ) -> None:
        self.answers = Answers(grace_ms)
        self._ports = ports
        self._partitions = partitions
        self._pauses = pauses
        self._seed = seed
        self._connections: set[AnswerDeadlines] = set()
        self._stopping: asyncio.Event | None = None
        self._started = threading.Event()
        self._patience_s = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._run()), name="soak-prober", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self, patience_s: float) -> None:
        """Stop sending. Wait at most `patience_s` seconds for the missing answers."""
        self._patience_s = patience_s
        self._started.wait()
        if self._loop is not None and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._started.set()
        transport = SocketTransport()
        connections = [
            asyncio.create_task(self._connection(transport, broker, port, number))
            for broker, port in self._ports.items()
            for number in range(CONNECTIONS_PER_BROKER)
        ]
        watching = asyncio.create_task(self._watch())
        await self._stopping.wait()
        _, left = await asyncio.wait(connections, timeout=self._patience_s)
        for task in (*left, watching):
            task.cancel()
        for task in connections:
            if not task.cancelled() and task.done():
                task.result()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            look_at_all(self._connections, now_ms())

    async def _connection(
        self, transport: SocketTransport, broker: int, port: int, number: int
    ) -> None:
        assert self._stopping is not None
        chance = random.Random(f"{self._seed}/{broker}/{number}")
        requests = ProbeRequests(
            chance, self._partitions, list(self._ports), lambda: int(time.time() * 1000)
        )
        client = NetworkClient(transport, f"soak-prober-{number}")
        while not self._stopping.is_set():
            try:
                await client.connect("127.0.0.1", port, _CONNECT_TIMEOUT_MS)
            except OSError:
                await asyncio.sleep(chance.uniform(*_REST_S))
                continue
            deadlines = AnswerDeadlines(client.local, broker, self.answers, self._pauses)
            self._connections.add(deadlines)
            while client.connected and not self._stopping.is_set():
                burst = [
                    self._ask(client, deadlines, requests.draw())
                    for _ in range(chance.choice(BURSTS))
                ]
                await asyncio.gather(*burst)
                await asyncio.sleep(chance.uniform(*_REST_S))
            deadlines.closed(now_ms())
            self._connections.discard(deadlines)
        client.close()

    async def _ask(self, client: NetworkClient, deadlines: AnswerDeadlines, probe: Probe) -> None:
        if not client.connected:
            return
        deadlines.sent(probe.kind, probe.allowed_ms, now_ms())
        try:
            await client.send(probe.request, probe.version, GIVE_UP_MS)
        except (OSError, ProtocolError):
            # The broker may close the connection and not answer the request. `Answers.closed`
            # counts the requests of a closed connection.
            return
        deadlines.answered(now_ms())
