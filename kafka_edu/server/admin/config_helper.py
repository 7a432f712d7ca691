"""Describe the configuration, and where each value comes from (Kafka: ConfigHelper.scala; KIP-133,
KIP-226, KIP-569).

Each config entry has its value and the source of the value. On request it also has synonyms. A
synonym is a place that sets the key. The first synonym is the one that counts. For `retention.ms`
the synonyms may be: the topic's own value 1000, log.retention.ms=-1 in server.properties, and the
default 168 of log.retention.hours.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kafka_edu.common.config_def import REQUIRED, ConfigKey, ConfigType
from kafka_edu.log.log_config import TOPIC_CONFIG
from kafka_edu.protocol.messages.describe_configs import ConfigSource
from kafka_edu.server.config.dynamic_broker_config import (
    DYNAMIC,
    DYNAMIC_ONLY,
    TOPIC_CONFIG_SYNONYMS,
    DynamicBrokerConfig,
    broker_config_synonyms,
)
from kafka_edu.server.config.kafka_config_keys import CONFIG_DEF

_STATIC_DEFAULTS: Final = {
    key.name: CONFIG_DEF.default_text(key.name)
    for key in CONFIG_DEF
    if key.default not in (None, REQUIRED)
}


class ConfigSynonym(NamedTuple):
    """One place that sets a key, with the key's name and its value there."""

    name: str
    value: str | None
    """The value in this place. None for a secret value."""
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One config key with its value, its source and its synonyms, for a DescribeConfigs
    response.
    """

    name: str
    value: str | None
    """The value. None if it is not set or is secret."""
    read_only: bool
    source: ConfigSource
    is_sensitive: bool
    synonyms: tuple[ConfigSynonym, ...]
    type: ConfigType | None
    """The type of the value. None for an unknown key."""
    doc: str


class ConfigHelper:
    """Describes the configs of topics and of this broker, from the broker's dynamic
    configuration.
    """

    def __init__(self, dynamic: DynamicBrokerConfig) -> None:
        self._dynamic = dynamic

    def check_topic_configs(self, overrides: Mapping[str, str]) -> None:
        """Raise ConfigException if `overrides` are not valid configs of a topic, for example if a
        key is unknown.
        """
        self._dynamic.log_defaults.with_overrides(overrides)

    def topic_entries(self, overrides: Mapping[str, str]) -> list[ConfigEntry]:
        """Return an entry for every config key of a topic that has these overrides. Raises
        ConfigException for a wrong value.
        """
        known = {name: value for name, value in overrides.items() if name in TOPIC_CONFIG}
        values = self._dynamic.log_defaults.with_overrides(known).values
        return [
            self._topic_entry(
                key, TOPIC_CONFIG.shown(key.name, values[key.name]), key.name in known
            )
            for key in TOPIC_CONFIG
        ]

    def _topic_entry(self, key: ConfigKey, value: str, own: bool) -> ConfigEntry:
        broker_key = TOPIC_CONFIG_SYNONYMS.get(key.name)
        synonyms = self._synonyms(broker_key, is_sensitive=False) if broker_key is not None else ()
        if own:
            synonyms = (ConfigSynonym(key.name, value, ConfigSource.TOPIC), *synonyms)
        return ConfigEntry(
            key.name, value, False, _source(synonyms), False, synonyms, key.type, key.doc
        )

    def broker_entries(self) -> Iterator[ConfigEntry]:
        """Yield an entry for every config key of this broker. After these come the unknown keys
        that somebody has set.
        """
        values = self._dynamic.current.values
        for key in CONFIG_DEF:
            value = values[key.name]
            yield self._broker_entry(
                key.name, None if value is None else CONFIG_DEF.shown(key.name, value)
            )
        above = {
            **self._dynamic.static.given,
            **self._dynamic.default_configs,
            **self._dynamic.broker_configs,
        }
        for name, text in above.items():
            if name not in CONFIG_DEF:
                yield self._broker_entry(name, text)

    def default_broker_entries(self) -> Iterator[ConfigEntry]:
        """Yield an entry for each setting in /config/brokers/<default>, which applies to all
        brokers.
        """
        for name, text in self._dynamic.default_configs.items():
            entry = self._broker_entry(name, text)
            synonyms = tuple(
                synonym
                for synonym in entry.synonyms
                if synonym.source is ConfigSource.DYNAMIC_DEFAULT_BROKER
            )
            yield entry._replace(source=_source(synonyms), synonyms=synonyms)

    def _broker_entry(self, name: str, value: str | None) -> ConfigEntry:
        key = CONFIG_DEF.keys.get(name)
        config_type = key.type if key is not None else DYNAMIC_ONLY.get(name)
        is_sensitive = config_type in (None, ConfigType.PASSWORD)
        synonyms = self._synonyms(name, is_sensitive=is_sensitive)
        doc = key.doc if key is not None else ""
        return ConfigEntry(
            name,
            None if is_sensitive else value,
            name not in DYNAMIC,
            _source(synonyms),
            is_sensitive,
            synonyms,
            config_type,
            doc,
        )

    def _synonyms(self, name: str, *, is_sensitive: bool) -> tuple[ConfigSynonym, ...]:
        """Return every place that sets the broker's key `name`. The place that counts comes first.
        Return nothing if only other keys with the same meaning set the value (log.roll.hours for
        log.roll.ms).
        """
        dynamic = self._dynamic
        places = (
            (dynamic.broker_configs, ConfigSource.DYNAMIC_BROKER),
            (dynamic.default_configs, ConfigSource.DYNAMIC_DEFAULT_BROKER),
            (dynamic.static.given, ConfigSource.STATIC_BROKER),
            (_STATIC_DEFAULTS, ConfigSource.DEFAULT),
        )
        found = [
            ConfigSynonym(key, None if is_sensitive else configs[key], source)
            for configs, source in places
            for key in broker_config_synonyms(name)
            if key in configs
        ]
        first = next(
            (index for index, synonym in enumerate(found) if synonym.name == name), len(found)
        )
        return tuple(found[first:])


def _source(synonyms: tuple[ConfigSynonym, ...]) -> ConfigSource:
    return synonyms[0].source if synonyms else ConfigSource.DEFAULT
