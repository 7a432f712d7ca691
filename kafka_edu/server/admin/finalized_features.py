"""Read the version of the cluster's finalized features from ZooKeeper (Kafka:
FinalizedFeatureChangeListener, FinalizedFeatureCache; KIP-584).

The znode /feature holds the features of the whole cluster. Kafka 2.8 has no features, but the znode
nevertheless has a version. An ApiVersions response of v3 contains this version as the epoch. So a
client can see which of two responses is newer. There is no epoch if the znode does not exist, or
while its status is not "enabled".
"""

import asyncio
import logging

from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_client import WatchedEvent, ZkError
from kafka_edu.zk.zk_data import FeatureZNode

log = logging.getLogger(__name__)


class FinalizedFeatures:
    """Keeps the version of the znode /feature up to date. Only the broker's event loop may use it.
    Only `startup` and the background task `run` change `epoch`.
    """

    def __init__(self, zk: KafkaZkClient) -> None:
        self._zk = zk
        self._changed = asyncio.Event()
        self.epoch: int | None = None
        """The version of /feature, or None if there are no finalized features."""

    async def startup(self) -> None:
        """Read the znode and set a watch on it. Raises ZkError."""
        self.epoch = await self._zk.get_finalized_features_epoch(watch=True)

    def on_watch(self, watched: WatchedEvent) -> None:
        """Record a change of the znode /feature. The broker must call this for every watch
        event.
        """
        if watched.path == FeatureZNode.PATH:
            self._changed.set()

    def on_new_session(self) -> None:
        """Let the task read the znode again. The old session's watch is lost, so changes since then
        were not noticed.
        """
        self._changed.set()

    async def run(self) -> None:
        """Read the znode again after each change, for ever. The broker runs this as a task. If
        ZooKeeper reports an error, the next change or the next session starts another attempt.
        """
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self.startup()
            except ZkError as error:
                log.warning("the finalized features could not be read: %s", error)
