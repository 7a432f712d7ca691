"""Open an admin client, and fail soon if no broker can be reached.

The client alone would try the bootstrap servers for a minute, as Kafka's client does. A minute is
too long for a user who waits. So this module reports an error as soon as each server has failed
once.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from kafka_edu.clients.admin import AdminTimeoutError
from kafka_edu.clients.admin.admin import Admin
from kafka_edu.common.time import SystemTime
from kafka_edu.trace.event import CLIENT, Envelope, Level
from kafka_edu.trace.events.producer import ClientDisconnected
from kafka_edu.trace.tracer import Tracer


class FailedServers:
    """Records which bootstrap servers a client could not reach, as a sink of the client's tracer.

    `reach` stops waiting when `all_failed` is set.
    """

    level = Level.STATE

    def __init__(self, servers: int) -> None:
        self._left = set(range(-servers, 0))
        """The servers that have not failed yet. Server n has the broker id -n."""
        self.all_failed = asyncio.Event()
        self.last_reason = ""
        """The reason why the last connection ended, or could not be opened."""

    def accept(self, envelope: Envelope) -> None:
        if isinstance(envelope.event, ClientDisconnected):
            self.last_reason = envelope.event.reason
            self._left.discard(envelope.event.broker_id)
            if not self._left:
                self.all_failed.set()


async def reach(admin: Admin, failed: FailedServers, timeout_ms: int | None = None) -> None:
    """Wait until the client knows the cluster.

    Raises AdminTimeoutError as soon as each server has failed once, and TimeoutException after
    `timeout_ms`, or default.api.timeout.ms.
    """
    all_failed = asyncio.ensure_future(failed.all_failed.wait())
    known = asyncio.ensure_future(admin.describe_cluster(timeout_ms=timeout_ms))
    try:
        await asyncio.wait((all_failed, known), return_when=asyncio.FIRST_COMPLETED)
        if not known.done():
            servers = ",".join(f"{host}:{port}" for host, port in admin.config.bootstrap_servers)
            raise AdminTimeoutError(
                "Timed out waiting for a node assignment. The last connection ended because:"
                f" {failed.last_reason}. Check that a Kafka broker listens at {servers}."
            )
        known.result()
    finally:
        all_failed.cancel()
        known.cancel()
        await asyncio.gather(all_failed, known, return_exceptions=True)


@contextlib.asynccontextmanager
async def reached_admin(servers: str, client_id: str) -> AsyncIterator[Admin]:
    """Yield an admin client that knows the cluster. Raises the errors of `reach`."""
    trace = Tracer(CLIENT, SystemTime())
    async with Admin({"bootstrap.servers": servers, "client.id": client_id}, trace=trace) as admin:
        failed = FailedServers(len(admin.config.bootstrap_servers))
        trace.add_sink(failed)
        await reach(admin, failed)
        trace.remove_sink(failed)
        yield admin
