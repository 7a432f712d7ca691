"""Detect changes of configs in ZooKeeper and apply them (Kafka: DynamicConfigManager.scala,
ZkNodeChangeNotificationListener.scala; spec A2, Z2).

A change of /config/<type>/<name> is followed by a notification below /config/changes. ZooKeeper
numbers the notifications. Each notification contains the entity's path. Every broker watches the
list of notifications, so it needs only one watch, however many entities there are. A broker reads
each notification that is newer than the last one it has read. Then the handler for this type of
entity reads the entity's configs again and applies them. A notification contains no config values,
so a late or repeated notification does no harm.

When a broker sees notifications that are older than 15 minutes, it deletes them. A broker that
starts does not need old notifications. It reads the brokers' configs at its start, and a topic's
configs when it creates or loads the topic's first log.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from kafka_edu.common.time import Time
from kafka_edu.trace.events.server import EntityConfigTaken
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_client import WatchedEvent, WatchType, ZkError
from kafka_edu.zk.zk_data import ConfigEntityChangeNotificationZNode

log = logging.getLogger(__name__)

CHANGE_EXPIRATION_MS: Final = 15 * 60 * 1000
"""How long a notification is kept, in ms."""
NOTHING_SEEN: Final = -1

Handler = Callable[[str], Awaitable[None]]
"""A function that reads and applies the configs of the entity with the given name. Raises
ZkError.
"""


class DynamicConfigManager:
    """Applies changes of configs to this broker. Only the broker's event loop may use it. One task
    reads the notifications in the order in which they were written.
    """

    def __init__(self, zk: KafkaZkClient, time: Time, trace: Tracer | None) -> None:
        self._zk = zk
        self._time = time
        self._trace = trace
        self._last_seen = NOTHING_SEEN
        self._changed = asyncio.Event()

    async def startup(self) -> None:
        """Set the watch, and store the highest number of the present notifications as the last
        number seen. Call this before the configs are read, so that no change is missed. Raises
        ZkError.
        """
        numbers = await self._notifications()
        self._last_seen = max(numbers, default=NOTHING_SEEN)

    def on_watch(self, watched: WatchedEvent) -> None:
        """Record a change of the list of notifications. The broker must call this for every watch
        event.
        """
        if (
            watched.path == ConfigEntityChangeNotificationZNode.PARENT
            and watched.type is WatchType.CHILDREN_CHANGED
        ):
            self._changed.set()

    def on_new_session(self) -> None:
        """Let the task read the list again. The old session's watch is lost, so changes since then
        were not noticed.
        """
        self._changed.set()

    async def run(self, handlers: Mapping[str, Handler]) -> None:
        """Read and apply new notifications, for ever. The broker runs this as a task. The keys of
        `handlers` are types of entities, such as `topics`. Notifications of other types are
        skipped.

        If ZooKeeper reports an error, it is logged. The next change or the next session starts
        another attempt.
        """
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._process_notifications(handlers)
            except ZkError as error:
                log.warning("configuration changes could not be read: %s", error)

    async def _process_notifications(self, handlers: Mapping[str, Handler]) -> None:
        numbers = await self._notifications()
        new = {
            number: sequence
            for number, sequence in sorted(numbers.items())
            if number > self._last_seen
        }
        for number, sequence in new.items():
            for entity_path in await self._zk.get_changed_entities([sequence]):
                entity_type, _, name = entity_path.partition("/")
                if handler := handlers.get(entity_type):
                    await handler(name)
                    if self._trace:
                        self._trace(EntityConfigTaken(entity=entity_path, notification=number))
            self._last_seen = number
        oldest_first = [sequence for _, sequence in sorted(numbers.items())]
        await self._zk.delete_old_config_change_notifications(
            oldest_first, self._time.milliseconds() - CHANGE_EXPIRATION_MS
        )

    async def _notifications(self) -> dict[int, str]:
        """Return all notifications, and set the watch. A key is the notification's number; the
        value is the number as it is written in the znode's name.
        """
        return {
            int(sequence): sequence
            for sequence in await self._zk.get_config_change_notifications(watch=True)
            if sequence.isdecimal()
        }
