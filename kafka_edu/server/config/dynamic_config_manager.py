"""Notice changes of configs in ZooKeeper and apply them (Kafka: DynamicConfigManager.scala,
ZkNodeChangeNotificationListener.scala; spec A2, Z2).

A change of /config/<type>/<name> is followed by a notification below /config/changes. ZooKeeper
numbers the notifications, and each holds the entity's path. Every broker watches this list with one
watch, however many entities there are. It reads each notification with a number above the last one
seen. Then it reads the entity again, and the handler of its type applies it. A notification carries
no value, so a late or repeated one does no harm.

Every broker deletes notifications older than 15 minutes when it sees them. A broker that starts, or
that had lost its session, reads the configs that it needs anyway. It reads
the brokers' configs at its start, and a topic's configs when it creates or loads the topic's first
log.
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
"""How long a notification is kept."""
NOTHING_SEEN: Final = -1

Handler = Callable[[str], Awaitable[None]]
"""Applies the configuration of the entity with that name. Raises ZkError."""


class DynamicConfigManager:
    """Owned by the broker's loop. Its one task reads notifications in the order in which they were
    written.
    """

    def __init__(self, zk: KafkaZkClient, time: Time, trace: Tracer | None) -> None:
        self._zk = zk
        self._time = time
        self._trace = trace
        self._last_seen = NOTHING_SEEN
        self._changed = asyncio.Event()

    async def startup(self) -> None:
        """Set the watch, and treat all present notifications as seen. Call it before configs are
        read, so that no change is missed. Raises ZkError.
        """
        numbers = await self._notifications()
        self._last_seen = max(numbers, default=NOTHING_SEEN)

    def on_watch(self, watched: WatchedEvent) -> None:
        """Must be called with every watch event of this broker."""
        if (
            watched.path == ConfigEntityChangeNotificationZNode.PARENT
            and watched.type is WatchType.CHILDREN_CHANGED
        ):
            self._changed.set()

    def on_new_session(self) -> None:
        """Read the list again, because the old session's watch is lost, and with it any changes
        since.
        """
        self._changed.set()

    async def run(self, handlers: Mapping[str, Handler]) -> None:
        """Read notifications for ever; a task of the broker. `handlers` has keys such as `topics`.
        Entities of other types are skipped.

        Errors of ZooKeeper are logged. The next change, or the next session, starts another
        attempt.
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
        """Return number → sequence as written in the znode's name, and set the watch."""
        return {
            int(sequence): sequence
            for sequence in await self._zk.get_config_change_notifications(watch=True)
            if sequence.isdecimal()
        }
