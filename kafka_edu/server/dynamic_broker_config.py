"""Broker configs that change while the broker runs (Kafka: DynamicBrokerConfig.scala; KIP-226; spec
A2).

A key's value comes from the first of these that has it:

    /config/brokers/<id>        this broker's own
    /config/brokers/<default>   all brokers'
    server.properties
    the default

The first two are dynamic: DynamicConfigManager hears that they have changed and calls `update`,
which makes the new KafkaConfig and hands it to those who go by it. Only the keys of DYNAMIC can be
set so; the others are settled when the broker starts, and are read-only to AlterConfigs.

What is written into ZooKeeper by hand may be wrong: a wrong value there is told in the log and left
out, as if it had not been set.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from enum import IntEnum
from typing import Final, NamedTuple

from kafka_edu.common.config_def import ConfigException, ConfigType
from kafka_edu.log.log_config import LogConfig
from kafka_edu.server.config_gaps import DYNAMIC_ONLY_CONFIG
from kafka_edu.server.kafka_config import TOPIC_KEYS, KafkaConfig
from kafka_edu.server.kafka_config_keys import CONFIG_DEF
from kafka_edu.server.settings_check import PER_LISTENER, base_key, check_settings
from kafka_edu.trace.events.server import BrokerConfigChanged
from kafka_edu.trace.tracer import Tracer

log = logging.getLogger(__name__)

DEFAULT_ENTITY: Final = "<default>"
"""The name, below /config/…, of what holds for all that have nothing of their own."""


class ConfigSource(IntEnum):
    """Where a value comes from, by its number on the wire
    (DescribeConfigsResponse.ConfigSource).
    """

    UNKNOWN = 0
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6


#: A topic's key → the broker's key that is its default, with those that are derived from several
#: keys (Kafka: LogConfig.TopicConfigSynonyms).
TOPIC_CONFIG_SYNONYMS: Final[Mapping[str, str]] = {
    **TOPIC_KEYS,
    "flush.ms": "log.flush.interval.ms",
    "retention.ms": "log.retention.ms",
    "segment.jitter.ms": "log.roll.jitter.ms",
    "segment.ms": "log.roll.ms",
}
#: Of these keys the first that is set counts.
_SYNONYMS: Final = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
LOG_CONFIGS: Final = frozenset(TOPIC_CONFIG_SYNONYMS.values()) - {"log.message.format.version"}
"""Defaults of topics."""
THREAD_POOLS: Final = frozenset(
    {
        "background.threads",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
    }
)
"""Sizes, which can be halved or doubled at a time."""
CONNECTION_LIMITS: Final = frozenset(
    {"max.connections", "max.connections.per.ip", "max.connections.per.ip.overrides"}
)
CLUSTER_WIDE: Final = LOG_CONFIGS | THREAD_POOLS | CONNECTION_LIMITS
"""Keys that can be changed while the broker runs, for all brokers or for one."""
PER_BROKER: Final = frozenset({"advertised.listeners"})
"""Keys that can be changed while the broker runs, and mean nothing for all brokers at once."""
DYNAMIC: Final = CLUSTER_WIDE | PER_BROKER
OF_ONE_BROKER: Final = PER_BROKER | {"listeners"}
"""Keys that can never be changed for all brokers at once, whether or not they can be changed for
one.
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
"""Keys that Kafka changes for a single listener only, by the listener's prefix."""
DYNAMIC_ONLY: Final[Mapping[str, ConfigType]] = {key.name: key.type for key in DYNAMIC_ONLY_CONFIG}
"""Keys that server.properties does not have."""


def broker_config_synonyms(name: str) -> tuple[str, ...]:
    """The keys among which the first that is set counts for `name`; `name` alone if it has none
    (Kafka: brokerConfigSynonyms).
    """
    if name == "log.flush.interval.ms":
        return name, "log.flush.scheduler.interval.ms"
    return next((synonyms for synonyms in _SYNONYMS if name in synonyms), (name,))


class Reconfigurable(NamedTuple):
    """A part of the broker that goes by some keys."""

    keys: frozenset[str]
    apply: Callable[[KafkaConfig], None]
    """Called with the new configuration when one of the keys has another value."""


class DynamicBrokerConfig:
    """Owner of the configuration that holds now. Owned by the broker's loop."""

    def __init__(self, static: KafkaConfig, trace: Tracer | None = None) -> None:
        self.static = static
        self.current = static
        self.log_defaults = LogConfig.parse(static.topic_defaults())
        """What a topic gets that does not say otherwise."""
        self.default_configs: Mapping[str, str] = {}
        """/config/brokers/<default>, as it was last read."""
        self.broker_configs: Mapping[str, str] = {}
        """/config/brokers/<id>, likewise."""
        self._trace = trace
        self._parts: list[Reconfigurable] = []

    def add(self, keys: Collection[str], apply: Callable[[KafkaConfig], None]) -> None:
        """Have a part of the broker told of changes of `keys`."""
        self._parts.append(Reconfigurable(frozenset(keys), apply))

    def update_default(self, configs: Mapping[str, str]) -> None:
        """Take over what stands in /config/brokers/<default>."""
        self._say_what_has_no_effect(configs, self.default_configs)
        self.default_configs = dict(configs)
        self._reconfigure()

    def update_broker(self, configs: Mapping[str, str]) -> None:
        """Take over what stands in /config/brokers/<id>."""
        self._say_what_has_no_effect(configs, self.broker_configs)
        self.broker_configs = dict(configs)
        self._reconfigure()

    def validate(self, configs: Mapping[str, str], *, per_broker: bool) -> None:
        """Whether `configs` can take the place of this broker's own ones, or of all brokers'.
        Raises ConfigException.

        Keys that nobody knows are accepted, as in Kafka: they may be those of a plug-in.
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
            if name in DYNAMIC_ONLY and not value.strip().lstrip("-").isdecimal():
                raise ConfigException(
                    name,
                    f"Invalid value {value} for configuration {name}: Not a number of type"
                    f" {DYNAMIC_ONLY[name].name}",
                )
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
        """Log each new setting that is unknown, has no effect, or is not taken up while the broker
        runs.
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
        """Door: the configuration that holds from now on."""
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
        """The static configuration with the dynamic ones above it, less those that are wrong."""
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
    """Raises ConfigException, in Kafka's words, when one of `configs` is among the `refused`."""
    if wrong := [name for name in configs if name in refused]:
        raise ConfigException(wrong[0], f"{why}({', '.join(wrong)})")


def _overrides(of_all: Mapping[str, str], of_one: Mapping[str, str]) -> dict[str, str]:
    """What counts of all brokers' configs and of one's own, which stand above them."""
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
    """Return whether this is a key like listener.name.inside.max.connections, which can be changed
    while the broker runs.
    """
    return name != base_key(name) and base_key(name) in PER_LISTENER
