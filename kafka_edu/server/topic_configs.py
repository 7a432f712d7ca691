"""Each topic's log settings: the broker's, overridden by what lies in /config/topics/<topic> (Kafka: LogConfig, TopicConfigHandler).

The log asks while it is being created, and cannot wait for ZooKeeper; so whoever is about to create logs has the overrides fetched first.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping

from kafka_edu.log.log_config import LogConfig

FetchOverrides = Callable[[Iterable[str]], Awaitable[dict[str, dict[str, str]]]]


class TopicConfigs:
    """What is known of topics' overrides. Owned by the broker's loop."""

    def __init__(self, defaults: LogConfig, fetch_overrides: FetchOverrides) -> None:
        self._defaults = defaults
        self._fetch_overrides = fetch_overrides
        self._configs: dict[str, LogConfig] = {}

    @property
    def loaded(self) -> Mapping[str, LogConfig]:
        """What is known, by topic."""
        return self._configs

    def missing(self, topics: Iterable[str]) -> list[str]:
        """Those of `topics` that were never fetched."""
        return [topic for topic in topics if topic not in self._configs]

    async def load(self, topics: Iterable[str]) -> None:
        """Fetch the overrides of `topics`, all at once. Raises ZkError."""
        for topic, overrides in (await self._fetch_overrides(topics)).items():
            self._configs[topic] = self._defaults.with_overrides(overrides)

    def of(self, topic: str) -> LogConfig:
        """The topic's settings; the broker's defaults if it has none of its own, or was not loaded."""
        return self._configs.get(topic, self._defaults)

    def forget(self, topic: str) -> None:
        """The topic was deleted: one of the same name may come with other settings."""
        self._configs.pop(topic, None)
