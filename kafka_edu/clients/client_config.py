"""Shared parts of our clients' settings: keys that all clients have, and functions that check
names, addresses and values.

A key that only Kafka's client supports is refused. So each accepted setting has an effect. The
error for an unknown key names the most similar known key.
"""

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from kafka_edu.common.config_def import (
    MAX_INT,
    MAX_LONG,
    REQUIRED,
    ConfigDef,
    ConfigException,
    ConfigKey,
    ConfigType,
    ConfigValue,
    NonEmpty,
    Range,
)

SettingRow = tuple[str, str, str]
"""The key, the default and the effect of a setting, as the client's page in docs shows them."""

_NO_SOCKET_OPTION: Final = "the sizes of socket buffers are the operating system's"
_NO_METRICS: Final = "there are no metrics; use events (docs/events.md)"
#: Keys that all of Kafka's clients have and all of ours refuse → the reason. A name that ends with
#: `.` is a prefix.
REFUSED_BY_ALL: Final[Mapping[str, str]] = {
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


def name_keys(prefix: str) -> list[ConfigKey]:
    """Return the keys bootstrap.servers and client.id. A client without an id gets the name
    `prefix` with a number.
    """
    return [
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
            f"A name for logs, quotas and events. Empty: {prefix}-1, {prefix}-2 and so on.",
        ),
    ]


def connection_keys(max_idle_ms: int) -> list[ConfigKey]:
    """Return the keys for requests, metadata and connections.

    `max_idle_ms` is the default of connections.max.idle.ms. The other defaults are the same in all
    clients.
    """
    return [
        ConfigKey(
            "request.timeout.ms",
            ConfigType.INT,
            30_000,
            Range(0, MAX_INT),
            "How long a request waits for its response, in ms. Then the connection is closed.",
        ),
        ConfigKey(
            "retry.backoff.ms",
            ConfigType.LONG,
            100,
            Range(0, MAX_LONG),
            "The pause before a request is sent again, in ms.",
        ),
        ConfigKey(
            "reconnect.backoff.ms",
            ConfigType.LONG,
            50,
            Range(0, MAX_LONG),
            "The first pause before a broker is connected again, in ms. It doubles each time.",
        ),
        ConfigKey(
            "reconnect.backoff.max.ms",
            ConfigType.LONG,
            1_000,
            Range(0, MAX_LONG),
            "The longest such pause, in ms.",
        ),
        ConfigKey(
            "metadata.max.age.ms",
            ConfigType.LONG,
            300_000,
            Range(0, MAX_LONG),
            "After this time, in ms, the client asks for the metadata again.",
        ),
        ConfigKey(
            "connections.max.idle.ms",
            ConfigType.LONG,
            max_idle_ms,
            Range(1, MAX_LONG),
            "After this time without use, in ms, a connection is closed.",
        ),
        ConfigKey(
            "socket.connection.setup.timeout.ms",
            ConfigType.LONG,
            10_000,
            Range(1, MAX_LONG),
            "How long opening a connection may take, in ms.",
        ),
    ]


def nearest(name: str, known: Collection[str]) -> str:
    """Return the known key that is most similar to an unknown name, or "" if none is similar."""
    return next(iter(difflib.get_close_matches(name.replace("_", "."), known, 1, 0.6)), "")


def check_names(
    client: str,
    page: str,
    given: Mapping[str, object],
    known: Sequence[str],
    refused: Mapping[str, str],
) -> None:
    """Raise ConfigException for the first key that is refused or unknown.

    `client` is a word such as "consumer". `page` is the page in docs that lists its keys. A name in
    `refused` that ends with `.` is a prefix.
    """
    for name in given:
        if name in known:
            continue
        for other, why in refused.items():
            if name == other or (other.endswith(".") and name.startswith(other)):
                raise ConfigException(
                    name, f"{name} is refused, because {why}. Remove it from the settings."
                )
        near = nearest(name, known)
        hint = f" Did you mean {near}?" if near else f" {page} has all keys."
        article = "An" if client[0] in "aeiou" else "A"
        raise ConfigException(name, f"{article} {client} has no setting {name}.{hint}")


def address(text: str) -> tuple[str, int]:
    """Return host and port of `host:port`. Raises ConfigException."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65_536:
        raise ConfigException(
            "bootstrap.servers",
            f"Invalid value {text} for configuration bootstrap.servers: it is not host:port. Write"
            " for example 127.0.0.1:9092.",
        )
    return host.strip("[]"), int(port)


def config_text(value: object) -> ConfigValue:
    """Return a value in the form for ConfigDef. Numbers become text, so all numbers are checked
    alike.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return value if isinstance(value, str) else repr(value)


def a_function(given: Mapping[str, object], name: str, shape: str) -> Any:
    """Return the function that is the value of a key, or None if the key is not set. Raises
    ConfigException if the value is no function. The message contains `shape`, for example "of
    bytes".
    """
    value = given.get(name)
    if value is None or callable(value):
        return value
    raise ConfigException(name, f"{name} is {value!r}, but it must be a function {shape}.")


def interceptors(given: Mapping[str, object], first: str, second: str) -> tuple[Any, ...]:
    """Return the objects in interceptor.classes. Each must have these two methods. Raises
    ConfigException.
    """
    name = "interceptor.classes"
    value = given.get(name, ())
    if not isinstance(value, list | tuple) or not all(
        hasattr(each, first) and hasattr(each, second) and not isinstance(each, type)
        for each in value
    ):
        raise ConfigException(name, f"{name} must be a list of objects with {first} and {second}.")
    return tuple(value)


def rows_of(config: ConfigDef) -> list[SettingRow]:
    """Return the settings of a client in the order of its page in docs."""
    return [(key.name, config.default_text(key.name), key.doc) for key in config]
