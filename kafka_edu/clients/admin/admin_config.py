"""The settings of our admin client: Kafka's keys, and the defaults of Kafka 2.8.

(Kafka: AdminClientConfig.java.) A key that Kafka has and our client does not is refused, so no
setting is accepted and does nothing. An unknown key is an error that names the nearest right one.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.clients.client_config import address, check_names, config_text
from kafka_edu.common.config_def import (
    MAX_INT,
    MAX_LONG,
    REQUIRED,
    ConfigDef,
    ConfigException,
    ConfigKey,
    ConfigType,
    NonEmpty,
    Range,
)

_INT: Final = ConfigType.INT
_LONG: Final = ConfigType.LONG

ADMIN_CONFIG: Final = ConfigDef(
    [
        ConfigKey(
            "bootstrap.servers",
            ConfigType.LIST,
            REQUIRED,
            NonEmpty(),
            "Brokers to begin with, as host:port. The client learns the others from them.",
        ),
        ConfigKey(
            "client.id",
            ConfigType.STRING,
            "",
            None,
            "A name for logs, quotas and events. Empty: adminclient-1, adminclient-2 and so on.",
        ),
        ConfigKey(
            "default.api.timeout.ms",
            _INT,
            60_000,
            Range(0, MAX_INT),
            "How long a call may take with all its retries, in ms, unless it has its own limit.",
        ),
        ConfigKey(
            "request.timeout.ms",
            _INT,
            30_000,
            Range(0, MAX_INT),
            "How long a request waits for its response, in ms. Then the connection is closed.",
        ),
        ConfigKey(
            "retries",
            _INT,
            MAX_INT,
            Range(0, MAX_INT),
            "How often a request is sent again after an error that may pass.",
        ),
        ConfigKey(
            "retry.backoff.ms",
            _LONG,
            100,
            Range(0, MAX_LONG),
            "The pause before a request is sent again, in ms.",
        ),
        ConfigKey(
            "reconnect.backoff.ms",
            _LONG,
            50,
            Range(0, MAX_LONG),
            "The first pause before a broker is connected again, in ms. It doubles each time.",
        ),
        ConfigKey(
            "reconnect.backoff.max.ms",
            _LONG,
            1_000,
            Range(0, MAX_LONG),
            "The longest such pause, in ms.",
        ),
        ConfigKey(
            "metadata.max.age.ms",
            _LONG,
            300_000,
            Range(0, MAX_LONG),
            "After this time, in ms, a call asks for the brokers and the controller again.",
        ),
        ConfigKey(
            "connections.max.idle.ms",
            _LONG,
            300_000,
            Range(1, MAX_LONG),
            "After this time without use, in ms, a connection is closed.",
        ),
        ConfigKey(
            "socket.connection.setup.timeout.ms",
            _LONG,
            10_000,
            Range(1, MAX_LONG),
            "How long opening a connection may take, in ms.",
        ),
    ]
)

_NO_SOCKET_OPTION: Final = "the sizes of socket buffers are the operating system's"
_NO_METRICS: Final = "there are no metrics; use events (docs/events.md)"
#: Keys of Kafka's admin client that ours refuses, and why. A name that ends with `.` is a prefix.
REFUSED: Final[Mapping[str, str]] = {
    "security.protocol": "connections are never encrypted; leave the key out",
    "security.providers": "connections are never encrypted",
    "sasl.": "there is no SASL",
    "ssl.": "connections are never encrypted",
    "send.buffer.bytes": _NO_SOCKET_OPTION,
    "receive.buffer.bytes": _NO_SOCKET_OPTION,
    "metric.reporters": _NO_METRICS,
    "metrics.": _NO_METRICS,
    "client.dns.lookup": "each name's first address that accepts is used",
    "socket.connection.setup.timeout.max.ms": "the time limit does not grow",
}


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
    """Return the settings of an admin client. `number` names one without client.id.

    Raises ConfigException with one line: the key, what is wrong, and what to do.
    """
    check_names("admin client", "docs/admin.md", given, list(ADMIN_CONFIG.keys), REFUSED)
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


def setting_rows() -> Sequence[tuple[str, str, str]]:
    """Return (key, default, explanation) of each setting that works, for docs/admin.md."""
    return [(key.name, ADMIN_CONFIG.default_text(key.name), key.doc) for key in ADMIN_CONFIG]
