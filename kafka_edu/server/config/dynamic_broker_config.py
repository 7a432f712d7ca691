"""Broker configs that change while the broker runs (Kafka: DynamicBrokerConfig.scala; KIP-226; spec
A2).

The value of a key comes from the first of these places that sets the key:

    /config/brokers/<id>        settings of this broker
    /config/brokers/<default>   settings of all brokers
    server.properties
    the default

The first two places are dynamic. When one of them changes, DynamicConfigManager calls
`update_broker` or `update_default`. These methods make a new KafkaConfig and pass it to the parts
of the broker that use it. Only the keys in DYNAMIC can be set in this way. All other keys are fixed
when the broker starts, and AlterConfigs treats them as read-only.

Settings that somebody wrote into ZooKeeper by hand may be wrong. A wrong value is logged and
ignored.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from kafka_edu.common.config_def import ConfigException, ConfigType
from kafka_edu.log.log_config import LogConfig
from kafka_edu.server.config.config_gaps import DYNAMIC_ONLY_CONFIG
from kafka_edu.server.config.kafka_config import TOPIC_KEYS, KafkaConfig
from kafka_edu.server.config.kafka_config_keys import CONFIG_DEF
from kafka_edu.server.config.settings_check import (
    PER_LISTENER,
    base_key,
    check_settings,
    only_for_one_broker,
)
from kafka_edu.trace.events.server import BrokerConfigChanged
from kafka_edu.trace.tracer import Tracer

log = logging.getLogger(__name__)

DEFAULT_ENTITY: Final = "<default>"
"""The znode name of the default settings, for example below /config/brokers. They apply to all
entities without their own settings.
"""


#: A topic's key → the broker's key that gives its default value. Keys whose default comes from
#: several broker keys are included (Kafka: LogConfig.TopicConfigSynonyms).
TOPIC_CONFIG_SYNONYMS: Final[Mapping[str, str]] = {
    **TOPIC_KEYS,
    "flush.ms": "log.flush.interval.ms",
    "retention.ms": "log.retention.ms",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
}
#: Groups of broker keys for the same setting. In each group, the first key that is set counts.
_SYNONYMS: Final = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
LOG_CONFIGS: Final = frozenset(TOPIC_CONFIG_SYNONYMS.values()) - {"log.message.format.version"}
"""The broker's keys that give topics their defaults."""
THREAD_POOLS: Final = frozenset(
    {
        "background.threads",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
    }
)
"""Keys for numbers of threads. One change can only halve or double such a number at most."""
CONNECTION_LIMITS: Final = frozenset(
    {"max.connections", "max.connections.per.ip", "max.connections.per.ip.overrides"}
)
CAPTURE: Final = frozenset({"edu.capture.clients", "edu.capture.max.bytes"})
CLUSTER_WIDE: Final = LOG_CONFIGS | THREAD_POOLS | CONNECTION_LIMITS | CAPTURE
"""Keys that can be changed while the broker runs, for all brokers or for one."""
PER_BROKER: Final = frozenset({"advertised.listeners"})
"""Keys that can be changed while the broker runs, but only for one broker."""
DYNAMIC: Final = CLUSTER_WIDE | PER_BROKER
OF_ONE_BROKER: Final = PER_BROKER | {"listeners"}
"""Keys whose value cannot be set for all brokers at once, only for one broker. `listeners` cannot
be changed dynamically at all.
"""
OF_LISTENERS: Final = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
"""Keys that Kafka changes only for a single listener. Such a key begins with the
listener's prefix.
"""
DYNAMIC_ONLY: Final[Mapping[str, ConfigType]] = {key.name: key.type for key in DYNAMIC_ONLY_CONFIG}
"""Keys that are not allowed in server.properties, with their types."""


def broker_config_synonyms(name: str) -> tuple[str, ...]:
    """Return all keys that can set `name`. The first key that is set counts. If there is no other
    key for `name`, return only `name` (Kafka: brokerConfigSynonyms).
    """
    if name == "log.flush.interval.ms":
        return name, "log.flush.scheduler.interval.ms"
    return next((synonyms for synonyms in _SYNONYMS if name in synonyms), (name,))


class Reconfigurable(NamedTuple):
    """A part of the broker that must be called when certain keys change."""

    keys: frozenset[str]
    apply: Callable[[KafkaConfig], None]
    """Called with the new configuration when one of `keys` has a new value."""


class DynamicBrokerConfig:
    """Keeps the current configuration of the broker, and applies changes to it. Only the broker's
    event loop may use it.
    """

    def __init__(self, static: KafkaConfig, trace: Tracer | None = None) -> None:
        self.static = static
        self.current = static
        self.log_defaults = LogConfig.parse(static.topic_defaults())
        """The settings of a topic that has no overrides."""
        self.default_configs: Mapping[str, str] = {}
        """The contents of /config/brokers/<default> when it was last read."""
        self.broker_configs: Mapping[str, str] = {}
        """The contents of /config/brokers/<id> when it was last read."""
        self._trace = trace
        self._parts: list[Reconfigurable] = []

    def add(self, keys: Collection[str], apply: Callable[[KafkaConfig], None]) -> None:
        """Register the function `apply`. It is called with the new configuration when one of `keys`
        changes.
        """
        self._parts.append(Reconfigurable(frozenset(keys), apply))

    def update_default(self, configs: Mapping[str, str]) -> None:
        """Apply new contents of /config/brokers/<default>, the settings of all brokers."""
        self._say_what_has_no_effect(configs, self.default_configs)
        for finding in only_for_one_broker(configs):
            log.warning("dynamic configuration: %s", finding.text)
        self.default_configs = dict(configs)
        self._reconfigure()

    def update_broker(self, configs: Mapping[str, str]) -> None:
        """Apply new contents of /config/brokers/<id>, the settings of this broker."""
        self._say_what_has_no_effect(configs, self.broker_configs)
        self.broker_configs = dict(configs)
        self._reconfigure()

    def validate(self, configs: Mapping[str, str], *, per_broker: bool) -> None:
        """Check whether `configs` can replace the settings of this broker (`per_broker`) or of all
        brokers. Raises ConfigException if they cannot.

        Unknown keys are accepted, as in Kafka, because they may belong to a plug-in.
        """
        if not per_broker:
            _refuse(
                configs,
                OF_ONE_BROKER,
                "Cannot update these configs at default cluster level, broker id must be"
                " specified: Set",
            )
        _refuse(
            configs,
            CONFIG_DEF.keys.keys() - DYNAMIC - OF_LISTENERS,
            "Cannot update these configs dynamically: Set",
        )
        _refuse(
            configs,
            OF_LISTENERS,
            "These security configs can be dynamically updated only per-listener using the listener"
            " prefix: HashSet",
        )
        for finding in check_settings(configs):
            if finding.refuses:
                raise ConfigException(finding.key, finding.text)
        for name, value in configs.items():
            if name in DYNAMIC_ONLY_CONFIG:
                DYNAMIC_ONLY_CONFIG.keys[name].parse(value)
        above = (
            _overrides(self.default_configs, configs)
            if per_broker
            else _overrides(configs, self.broker_configs)
        )
        wanted = self.static.with_overrides(above)
        LogConfig.parse(wanted.topic_defaults())
        for name in sorted(THREAD_POOLS):
            before, after = self.current.values.get_int(name), wanted.values.get_int(name)
            failed = (
                f"Dynamic thread count update validation failed for {name}={after}, value should"
            )
            if after > 2 * before:
                raise ConfigException(
                    name, f"{failed} not be greater than double the current value {before}"
                )
            if 2 * after < before:
                raise ConfigException(name, f"{failed} be at least half the current value {before}")

    @staticmethod
    def _say_what_has_no_effect(after: Mapping[str, str], before: Mapping[str, str]) -> None:
        """Log a warning for each new setting that is unknown, has no effect, or cannot be changed
        while the broker runs.
        """
        new = {name: value for name, value in after.items() if before.get(name) != value}
        found = {finding.key: finding.text for finding in check_settings(new)}
        for name in new:
            if name in found:
                log.warning("dynamic configuration: %s", found[name])
            elif (
                name not in DYNAMIC
                and name not in DYNAMIC_ONLY
                and not is_dynamic_for_one_listener(name)
            ):
                log.warning(
                    "dynamic configuration: %s is ignored, because it cannot be changed while the"
                    " broker runs",
                    name,
                )

    def _reconfigure(self) -> None:
        """Make the current configuration, and call the registered parts whose keys have changed."""
        before = self.current
        after = self.current = self._made()
        changed = {name for name, value in after.values.items() if value != before.values[name]}
        apply = (
            changed
            if after.connection_limits == before.connection_limits
            else changed | CONNECTION_LIMITS
        )
        if not apply:
            return
        self.log_defaults = LogConfig.parse(after.topic_defaults())
        if self._trace and changed:
            shown = CONFIG_DEF.shown
            self._trace(
                BrokerConfigChanged(
                    changes=tuple(
                        (n, shown(n, before.values[n]), shown(n, after.values[n]))
                        for n in sorted(changed)
                    )
                )
            )
        for part in self._parts:
            if part.keys & apply:
                part.apply(after)

    def _made(self) -> KafkaConfig:
        """Return the configuration of server.properties, overridden by the valid dynamic
        settings.
        """
        overrides = _overrides(self.default_configs, self.broker_configs)
        while True:
            try:
                made = self.static.with_overrides(overrides)
                LogConfig.parse(made.topic_defaults())
            except ConfigException as wrong:
                named = [
                    name
                    for name in overrides
                    if wrong.key
                    in (
                        name,
                        *(t for t, b in TOPIC_CONFIG_SYNONYMS.items() if b == name),
                    )
                ]
                log.warning("the dynamic configuration in ZooKeeper is wrong: %s", wrong)
                for name in named or list(overrides):
                    del overrides[name]
            else:
                return made


def _refuse(configs: Mapping[str, str], refused: AbstractSet[str], why: str) -> None:
    """Raise ConfigException with Kafka's message if a key of `configs` is in `refused`. The message
    starts with `why`.
    """
    if wrong := [name for name in configs if name in refused]:
        raise ConfigException(wrong[0], f"{why}({', '.join(wrong)})")


def _overrides(of_all: Mapping[str, str], of_one: Mapping[str, str]) -> dict[str, str]:
    """Return the dynamic settings that apply to one broker. The settings of this broker (`of_one`)
    override the settings of all brokers (`of_all`).
    """
    wide = {
        name: value
        for name, value in of_all.items()
        if name in CLUSTER_WIDE or is_dynamic_for_one_listener(name)
    }
    return wide | {
        name: value
        for name, value in of_one.items()
        if name in DYNAMIC or is_dynamic_for_one_listener(name)
    }


def is_dynamic_for_one_listener(name: str) -> bool:
    """Return whether `name` is a key of one listener that can be changed while the broker runs,
    such as listener.name.inside.max.connections.
    """
    return name != base_key(name) and base_key(name) in PER_LISTENER
