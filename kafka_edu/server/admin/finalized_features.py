"""The version of the finalized features that a broker knows (Kafka: FinalizedFeatureChangeListener,
FinalizedFeatureCache; KIP-584).

The features of the whole cluster are in /feature. Kafka 2.8 has none, but the znode has a version
all the same. ApiVersions v3 returns it as the epoch, so that a client can see which of two
responses is newer. There is no epoch without the znode, or while its status is not "enabled".
"""

import asyncio
import logging

from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_client import WatchedEvent, ZkError
from kafka_edu.zk.zk_data import FeatureZNode

log = logging.getLogger(__name__)


class FinalizedFeatures:
    """Follows /feature. Owned by the broker's loop. Only its task writes the epoch."""

    def __init__(self, zk: KafkaZkClient) -> None:
        self._zk = zk
        self._changed = asyncio.Event()
        self.epoch: int | None = None
        """The version of /feature, or None if there are no finalized features."""

    async def startup(self) -> None:
        """Read the znode and watch it. Raises ZkError."""
        self.epoch = await self._zk.get_finalized_features_epoch(watch=True)

    def on_watch(self, watched: WatchedEvent) -> None:
        """Must be called with every watch event of this broker."""
        if watched.path == FeatureZNode.PATH:
            self._changed.set()

    def on_new_session(self) -> None:
        """Read the znode again, because the old session's watch is lost, and with it any changes
        since.
        """
        self._changed.set()

    async def run(self) -> None:
        """Follow the znode for ever; a task of the broker. After an error of ZooKeeper, the next
        change or session starts another attempt.
        """
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self.startup()
            except ZkError as error:
                log.warning("the finalized features could not be read: %s", error)
