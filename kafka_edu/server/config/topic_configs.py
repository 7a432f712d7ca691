"""Each topic's log settings: the broker's defaults, and the overrides in /config/topics/<topic>
(Kafka: LogConfig, TopicConfigHandler).

A log needs its settings when it is created, and cannot wait for ZooKeeper at that moment. So the
broker fetches the overrides before it creates logs. Overrides that somebody wrote into ZooKeeper by
hand may be wrong. Each wrong override is logged and ignored.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping

from kafka_edu.common.config_def import ConfigException
from kafka_edu.log.log_config import TOPIC_CONFIG, LogConfig
from kafka_edu.trace.events.server import TopicConfigChanged
from kafka_edu.trace.tracer import Tracer

log = logging.getLogger(__name__)

FetchOverrides = Callable[[Iterable[str]], Awaitable[dict[str, dict[str, str]]]]


class TopicConfigs:
    """Keeps the settings of the topics that this broker needs. Only the broker's event loop may use
    it.
    """

    def __init__(
        self,
        defaults: LogConfig,
        fetch_overrides: FetchOverrides,
        trace: Tracer | None = None,
        on_change: Callable[[str, LogConfig | None], None] | None = None,
    ) -> None:
        """`on_change` is called with a topic and its new settings, or with None when the topic is
        forgotten.
        """
        self._defaults = defaults
        self._fetch_overrides = fetch_overrides
        self._trace = trace
        self._on_change = on_change
        self._overrides: dict[str, dict[str, str]] = {}
        self._configs: dict[str, LogConfig] = {}

    @property
    def loaded(self) -> Mapping[str, LogConfig]:
        """The settings of each topic whose overrides were fetched, by topic."""
        return self._configs

    def missing(self, topics: Iterable[str]) -> list[str]:
        """Return the topics in `topics` whose overrides were never fetched."""
        return [topic for topic in topics if topic not in self._configs]

    async def load(self, topics: Iterable[str]) -> None:
        """Fetch the overrides of `topics`, all at once. Raises ZkError."""
        for topic, overrides in (await self._fetch_overrides(topics)).items():
            self._overrides[topic] = overrides
            self._set(topic, self._made(topic, overrides))

    async def read(self, topic: str) -> LogConfig:
        """Return a topic's current settings in ZooKeeper, without storing them here. Raises
        ZkError.
        """
        return self._made(topic, (await self._fetch_overrides([topic])).get(topic, {}))

    def set_defaults(self, defaults: LogConfig) -> None:
        """Set the broker's default settings. They apply to every topic that does not
        override them.
        """
        self._defaults = defaults
        for topic, overrides in self._overrides.items():
            self._set(topic, self._made(topic, overrides))

    def of(self, topic: str) -> LogConfig:
        """Return the topic's settings. If the topic has no overrides, or `load` has not fetched
        them yet, the result is the broker's defaults.
        """
        return self._configs.get(topic, self._defaults)

    def forget(self, topic: str) -> None:
        """Remove the settings of a deleted topic. A new topic with the same name may have other
        settings.
        """
        self._overrides.pop(topic, None)
        self._configs.pop(topic, None)
        if self._on_change is not None:
            self._on_change(topic, None)

    def _set(self, topic: str, config: LogConfig) -> None:
        """Store the topic's settings, and emit an event if they have changed."""
        before = self._configs.get(topic)
        self._configs[topic] = config
        if self._on_change is not None:
            self._on_change(topic, config)
        if self._trace and before is not None and before.values != config.values:
            shown = TOPIC_CONFIG.shown
            changed = [
                name for name, value in config.values.items() if before.values[name] != value
            ]
            changes = tuple(
                (name, shown(name, before.values[name]), shown(name, config.values[name]))
                for name in changed
            )
            self._trace(TopicConfigChanged(topic=topic, changes=changes))

    def _made(self, topic: str, overrides: Mapping[str, str]) -> LogConfig:
        """Return the defaults with the topic's overrides applied. Wrong overrides are logged and
        left out.
        """
        right = {name: value for name, value in overrides.items() if name in TOPIC_CONFIG}
        for name in overrides.keys() - right.keys():
            log.warning(
                "/config/topics/%s: %s is not a config of a topic, so it is ignored", topic, name
            )
        while True:
            try:
                return self._defaults.with_overrides(right)
            except ConfigException as wrong:
                log.warning("/config/topics/%s: %s; it is ignored", topic, wrong)
                if right.pop(wrong.key, None) is None:
                    return self._defaults
