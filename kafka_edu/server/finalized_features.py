"""Which version of the finalized features a broker knows (Kafka: FinalizedFeatureChangeListener,
FinalizedFeatureCache; KIP-584).

The features of the whole cluster stand in /feature. Kafka 2.8 has none, but the znode has a version
all the same: it is the epoch that ApiVersions v3 tells, so that a client can see which of two
answers is the newer one. Without the znode, or while its status is not "enabled", there is no
epoch.
"""

import asyncio
import logging

from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_client import WatchedEvent, ZkError
from kafka_edu.zk.zk_data import FeatureZNode

log = logging.getLogger(__name__)


class FinalizedFeatures:
    """Follows /feature. Owned by the broker's loop; only its task writes the epoch."""

    def __init__(self, zk: KafkaZkClient) -> None:
        self._zk = zk
        self._changed = asyncio.Event()
        self.epoch: int | None = None
        """The version of /feature, None where there are no finalized features to tell of."""

    async def startup(self) -> None:
        """Read the znode and watch it. Raises ZkError."""
        self.epoch = await self._zk.get_finalized_features_epoch(watch=True)

    def on_watch(self, watched: WatchedEvent) -> None:
        """To be called with all that ZooKeeper tells this broker."""
        if watched.path == FeatureZNode.PATH:
            self._changed.set()

    def on_new_session(self) -> None:
        """The old session's watch is gone, and what was told meanwhile went unheard."""
        self._changed.set()

    async def run(self) -> None:
        """The task: for ever. After a refusal by ZooKeeper, the next change or session makes it try
        again.
        """
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self.startup()
            except ZkError as error:
                log.warning("the finalized features could not be read: %s", error)
