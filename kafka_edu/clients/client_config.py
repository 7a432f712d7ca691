"""Shared parts of the settings of our clients: names, addresses, and values as text.

A key that Kafka has and our client does not is refused, so no setting is accepted and does nothing.
An unknown key is an error that names the nearest right one.
"""

import difflib
from collections.abc import Mapping, Sequence

from kafka_edu.common.config_def import ConfigException, ConfigValue


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
        near = difflib.get_close_matches(name.replace("_", "."), known, 1, 0.6)
        hint = f" Did you mean {near[0]}?" if near else f" {page} has all keys."
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
