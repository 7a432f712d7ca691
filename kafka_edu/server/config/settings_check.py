"""Check settings for problems: unknown keys, keys without effect, and protection that is missing.

`make_config` checks server.properties in this way, `cluster up` checks its options, and
DynamicBrokerConfig checks changes while the broker runs.
"""

import difflib
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kafka_edu.common.config_def import ConfigDef, SettingGap
from kafka_edu.server.config.config_gaps import AUTHORIZER_CONFIG, DYNAMIC_ONLY_CONFIG
from kafka_edu.server.config.kafka_config_keys import CONFIG_DEF

LISTENER_PREFIX: Final = "listener.name."
PER_LISTENER: Final = frozenset({"max.connections"})
"""Keys that can be set for one listener, as listener.name.<listener>.<key>."""
_CUTOFF: Final = 0.7
_WHY_REFUSED: Final = (
    "The broker does not start, because ignoring this setting would leave the cluster less"
    " protected than it looks"
)
_WHAT_TO_DO: Final = (
    "Remove the setting if this cluster needs no protection; otherwise use Apache Kafka for it."
)


class Finding(NamedTuple):
    """A problem with one key, as a text for the user."""

    key: str
    text: str
    refuses: bool = False


def check_settings(given: Mapping[str, str]) -> list[Finding]:
    """Return the problems of a broker's settings, in the order of `given`. O(keys given), except
    for unknown keys.
    """
    return [finding for key, text in given.items() if (finding := _check(key, text)) is not None]


def only_while_running(given: Iterable[str]) -> list[Finding]:
    """Return a problem for each key that is not allowed in server.properties, in the order of
    `given`.
    """
    return [
        Finding(
            key,
            f"{key} has no effect before the start. Set it while the broker runs: configs --alter"
            " --entity-type brokers --entity-name ID",
        )
        for key in given
        if key in DYNAMIC_ONLY_CONFIG
    ]


def only_for_one_broker(given: Iterable[str]) -> list[Finding]:
    """Return a problem for each key in `given` that can be set only for one broker, not for all."""
    return [
        Finding(
            key,
            f"{key} has no effect for all brokers at once. Set it for each of them: configs --alter"
            " --entity-type brokers --entity-name ID",
        )
        for key in given
        if key in DYNAMIC_ONLY_CONFIG
    ]


def base_key(key: str) -> str:
    """Return <key> for a key of the form `listener.name.<listener>.<key>`. Return any other key
    unchanged.
    """
    if not key.startswith(LISTENER_PREFIX):
        return key
    return key.removeprefix(LISTENER_PREFIX).partition(".")[2]


def _check(key: str, text: str) -> Finding | None:
    base = base_key(key)
    for config_def in (CONFIG_DEF, AUTHORIZER_CONFIG, DYNAMIC_ONLY_CONFIG):
        for met in config_def.gaps({base: text}):
            return _met(met._replace(name=key))
        if base in config_def:
            if base == key or base in PER_LISTENER:
                return None
            return Finding(
                key, f"{key} has no effect yet, because {base} cannot be set for one listener alone"
            )
    return Finding(key, f"{key} is not a known key, so it is ignored{suggestion(key, CONFIG_DEF)}")


def _met(met: SettingGap) -> Finding:
    if met.gap.refuses:
        return Finding(met.name, f"{met}. {_WHY_REFUSED}. {_WHAT_TO_DO}", refuses=True)
    return Finding(met.name, str(met))


def suggestion(key: str, config_def: ConfigDef) -> str:
    """Return "; did you mean X?" with the most similar known key X, or "" if no known key is
    similar.
    """
    near = difflib.get_close_matches(key, config_def.keys, n=1, cutoff=_CUTOFF)
    return f"; did you mean {near[0]}?" if near else ""
