"""Our admin client for the tools: its settings, and a fast failure if no broker can be reached."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Final

from kafka_edu.clients.admin import parse_addresses
from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.admin_config import ADMIN_CONFIG, parse_admin_config
from kafka_edu.clients.admin.first_contact import FailedServers, reach
from kafka_edu.common.config_def import ConfigException
from kafka_edu.tools.client_settings import ConnectionWarnings, known_settings, wrong_setting

_LOGGER: Final = "org.apache.kafka.clients.admin.AdminClientConfig"


@contextlib.asynccontextmanager
async def open_admin(
    servers: str,
    properties: Mapping[str, str],
    client_id: str = "adminclient-1",
    *,
    timeout_ms: int | None = None,
) -> AsyncIterator[Admin]:
    """Yield an admin client that knows the cluster. `properties` come from a file of the user.

    Kafka's tools try the servers for a minute. This function raises AdminTimeoutError as soon as
    each server has failed once, and TimeoutException after `timeout_ms`, or default.api.timeout.ms.
    Raises BootstrapAddressError, and ToolError for a setting that the client does not support.
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
    warnings = ConnectionWarnings()
    failed = FailedServers(len(parsed.bootstrap_servers))
    warnings.tracer.add_sink(failed)
    async with Admin(settings, trace=warnings.tracer) as admin:
        try:
            await reach(admin, failed, timeout_ms)
            yield admin
        finally:
            warnings.end()
