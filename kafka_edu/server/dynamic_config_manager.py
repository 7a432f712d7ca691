"""Hears that configs have changed, and has them taken up (Kafka: DynamicConfigManager.scala,
ZkNodeChangeNotificationListener.scala; spec A2, Z2).

Whoever changes /config/<type>/<name> then writes a notification below /config/changes, numbered by
ZooKeeper, with the entity's path in it. Every broker watches the list: one watch, however many
entities there are. Each notification above the last one seen is read, the entity is read anew, and
the handler of its type takes it up. A notification carries no value, so that one that comes late or
twice does no harm.

Notifications older than 15 minutes are deleted by whoever sees them. A broker that starts, or that
had lost its session, reads what it needs anyway: topics with their first log, its own and all
brokers' configs at the start.
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
"""How long a notification stays."""
NOTHING_SEEN: Final = -1

Handler = Callable[[str], Awaitable[None]]
"""Takes up the configuration of the entity of that name. Raises ZkError."""


class DynamicConfigManager:
    """Owned by the broker's loop; its one task reads notifications in the order in which they were
    written.
    """

    def __init__(self, zk: KafkaZkClient, time: Time, trace: Tracer | None) -> None:
        self._zk = zk
        self._time = time
        self._trace = trace
        self._last_seen = NOTHING_SEEN
        self._changed = asyncio.Event()

    async def startup(self) -> None:
        """Watch; what has been told until now is taken for seen. Called before configs are read, so
        that no change is missed. Raises ZkError.
        """
        numbers = await self._notifications()
        self._last_seen = max(numbers, default=NOTHING_SEEN)

    def on_watch(self, watched: WatchedEvent) -> None:
        """To be called with all that ZooKeeper tells this broker."""
        if (
            watched.path == ConfigEntityChangeNotificationZNode.PARENT
            and watched.type is WatchType.CHILDREN_CHANGED
        ):
            self._changed.set()

    def on_new_session(self) -> None:
        """The old session's watch is gone, and what was told meanwhile went unheard."""
        self._changed.set()

    async def run(self, handlers: Mapping[str, Handler]) -> None:
        """The task: for ever. `handlers` by entity type, as in `topics`; entities of other types
        are passed over.

        ZooKeeper's refusals are told in the log; the next change, or session, makes it try again.
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
        """Number → sequence, as it stands in the znode's name; watched."""
        return {
            int(sequence): sequence
            for sequence in await self._zk.get_config_change_notifications(watch=True)
            if sequence.isdecimal()
        }
