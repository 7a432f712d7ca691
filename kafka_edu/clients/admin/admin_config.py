"""The settings of our admin client: Kafka's keys, and the defaults of Kafka 2.8.

(Kafka: AdminClientConfig.java.) A key that only Kafka's client supports is refused. So each
accepted setting has an effect. The error for an unknown key names the most similar known key.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.clients.client_config import (
    REFUSED_BY_ALL,
    SettingRow,
    address,
    check_names,
    config_text,
    connection_keys,
    name_keys,
    rows_of,
)
from kafka_edu.common.config_def import (
    MAX_INT,
    ConfigDef,
    ConfigException,
    ConfigKey,
    ConfigType,
    Range,
)

_INT: Final = ConfigType.INT
_LONG: Final = ConfigType.LONG

ADMIN_CONFIG: Final = ConfigDef(
    [
        *name_keys("adminclient"),
        ConfigKey(
            "default.api.timeout.ms",
            _INT,
            60_000,
            Range(0, MAX_INT),
            "How long a call may take with all its retries, in ms, unless it has its own limit.",
        ),
        ConfigKey(
            "retries",
            _INT,
            MAX_INT,
            Range(0, MAX_INT),
            "How often a request is sent again after an error that may pass.",
        ),
        *connection_keys(300_000),
    ]
)


class AdminConfig(NamedTuple):
    """The parsed settings, with the names of their keys. Times are in ms."""

    bootstrap_servers: tuple[tuple[str, int], ...]
    client_id: str
    default_api_timeout_ms: int
    request_timeout_ms: int
    retries: int
    retry_backoff_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    metadata_max_age_ms: int
    connections_max_idle_ms: int
    connection_setup_timeout_ms: int


def parse_admin_config(given: Mapping[str, object], number: int) -> AdminConfig:
    """Return the settings of an admin client. If there is no client.id, `number` is part of the
    client's name.

    Raises ConfigException with one line: the key, what is wrong, and what to do.
    """
    check_names("admin client", "docs/admin.md", given, list(ADMIN_CONFIG.keys), REFUSED_BY_ALL)
    values = ADMIN_CONFIG.parse({name: config_text(value) for name, value in given.items()})
    call_ms = values.get_int("default.api.timeout.ms")
    request_ms = values.get_int("request.timeout.ms")
    if call_ms < request_ms:
        if "default.api.timeout.ms" in given:
            raise ConfigException(
                "default.api.timeout.ms",
                "The specified value of default.api.timeout.ms must be no smaller than the value of"
                f" request.timeout.ms, which is {request_ms}. Raise it, or lower the other.",
            )
        call_ms = request_ms
    return AdminConfig(
        tuple(map(address, values.get_list("bootstrap.servers"))),
        values.get_string("client.id") or f"adminclient-{number}",
        call_ms,
        request_ms,
        values.get_int("retries"),
        values.get_int("retry.backoff.ms"),
        values.get_int("reconnect.backoff.ms"),
        values.get_int("reconnect.backoff.max.ms"),
        values.get_int("metadata.max.age.ms"),
        values.get_int("connections.max.idle.ms"),
        values.get_int("socket.connection.setup.timeout.ms"),
    )


def setting_rows() -> Sequence[SettingRow]:
    """Return (key, default, explanation) of each setting that works, for docs/admin.md."""
    return rows_of(ADMIN_CONFIG)
