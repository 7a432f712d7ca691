"""Our admin client for the tools: its settings, and a quick end if no broker can be reached."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Final

from kafka_edu.clients.admin import AdminTimeoutError, parse_addresses
from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.admin_config import ADMIN_CONFIG, parse_admin_config
from kafka_edu.common.config_def import ConfigException
from kafka_edu.tools.client_settings import ConnectionWarnings, known_settings, wrong_setting
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.producer import ClientDisconnected

_LOGGER: Final = "org.apache.kafka.clients.admin.AdminClientConfig"


class _Unreachable(ConnectionWarnings):
    """Notes which of the bootstrap servers a client could not reach, and writes a line for each."""

    def __init__(self, servers: int) -> None:
        super().__init__()
        self._left = set(range(-servers, 0))
        """The servers that have not failed yet. Server n has the broker id -n."""
        self.all_failed = asyncio.Event()
        self.last_reason = ""
        """The reason why the last connection ended, or could not be opened."""

    def accept(self, envelope: Envelope) -> None:
        super().accept(envelope)
        if isinstance(envelope.event, ClientDisconnected):
            self.last_reason = envelope.event.reason
            self._left.discard(envelope.event.broker_id)
            if not self._left:
                self.all_failed.set()


@contextlib.asynccontextmanager
async def open_admin(
    servers: str,
    properties: Mapping[str, str],
    client_id: str = "adminclient-1",
    *,
    timeout_ms: int | None = None,
) -> AsyncIterator[Admin]:
    """Yield an admin client that knows the cluster. `properties` are those of a user's file.

    Kafka's tools try the servers for a minute. This raises AdminTimeoutError as soon as each of
    them has failed once, and TimeoutException after `timeout_ms`, or default.api.timeout.ms. Raises
    BootstrapAddressError, and ToolError for a setting that the client does not take.
    """
    parse_addresses(servers)
    settings: dict[str, object] = {
        "client.id": client_id,
        **known_settings(properties, ADMIN_CONFIG.keys, _LOGGER),
        "bootstrap.servers": servers,
    }
    try:
        parsed = parse_admin_config(settings, 1)
    except ConfigException as error:
        raise wrong_setting(error) from error
    warnings = _Unreachable(len(parsed.bootstrap_servers))
    async with Admin(settings, trace=warnings.tracer) as admin:
        try:
            await _reach(admin, warnings, servers, timeout_ms)
            yield admin
        finally:
            warnings.end()


async def _reach(
    admin: Admin, warnings: _Unreachable, servers: str, timeout_ms: int | None
) -> None:
    """Wait until the client knows the cluster. Raises AdminTimeoutError if no server answers."""
    failed = asyncio.ensure_future(warnings.all_failed.wait())
    known = asyncio.ensure_future(admin.describe_cluster(timeout_ms=timeout_ms))
    try:
        await asyncio.wait((failed, known), return_when=asyncio.FIRST_COMPLETED)
        if not known.done():
            raise AdminTimeoutError(
                "Timed out waiting for a node assignment. The last connection ended because:"
                f" {warnings.last_reason}. Check that a Kafka broker listens at {servers}."
            )
        known.result()
    finally:
        failed.cancel()
        known.cancel()
        await asyncio.gather(failed, known, return_exceptions=True)
