"""Shared parts of the settings of our clients: the keys that each of them has, their names and
addresses, and values as text or as objects of the program.

A key that Kafka has and our client does not is refused, so no setting is accepted and does nothing.
An unknown key is an error that names the nearest right one.
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
"""A setting's key, its default and what it does, as its page shows them."""

_NO_SOCKET_OPTION: Final = "the sizes of socket buffers are the operating system's"
_NO_METRICS: Final = "there are no metrics; use events (docs/events.md)"
#: Keys that each of Kafka's clients has and each of ours refuses, and why. A name that ends with
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
    """Return the keys for the brokers to begin with and for the client's name. A client without a
    name is called `prefix` and a number.
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

    `max_idle_ms` is the default of connections.max.idle.ms, the only one that differs.
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
    """Return the key that an unknown name was probably meant to be, or "" if none is similar."""
    return next(iter(difflib.get_close_matches(name.replace("_", "."), known, 1, 0.6)), "")


def check_names(
    client: str,
    page: str,
    given: Mapping[str, object],
    known: Sequence[str],
    refused: Mapping[str, str],
) -> None:
    """Raise ConfigException for the first key that is refused or unknown.

    `client` is a word such as "consumer", and `page` the page of docs with its keys. A name in
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
            f"Invalid value {text} for configuration bootstrap.servers: it is no host:port. Write"
            " for example 127.0.0.1:9092.",
        )
    return host.strip("[]"), int(port)


def config_text(value: object) -> ConfigValue:
    """Return a value as ConfigDef takes it: numbers as text, so that they are checked alike."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return value if isinstance(value, str) else repr(value)


def a_function(given: Mapping[str, object], name: str, shape: str) -> Any:
    """Return the function that a key has, or None. Raises ConfigException, which names the `shape`
    that is wanted, such as "of bytes".
    """
    value = given.get(name)
    if value is None or callable(value):
        return value
    raise ConfigException(name, f"{name} is {value!r}, but it must be a function {shape}.")


def interceptors(given: Mapping[str, object], first: str, second: str) -> tuple[Any, ...]:
    """Return the objects of interceptor.classes, which have these two methods. Raises
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
    """Return the settings of a client in the order of its page."""
    return [(key.name, config.default_text(key.name), key.doc) for key in config]
