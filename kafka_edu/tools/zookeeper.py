"""ZooKeeper for the tools with --zookeeper: one session for one call."""

import contextlib
from collections.abc import AsyncIterator
from typing import Final

from kafka_edu.common.time import SystemTime
from kafka_edu.server.config.kafka_config import default_config
from kafka_edu.tools.tool import ToolError, illegal_argument
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.kazoo_zk_client import KazooZkClient
from kafka_edu.zk.zk_client import ZkError
from kafka_edu.zk.zk_data import ProtocolVersion

SESSION_TIMEOUT_MS: Final = 30_000
CONNECTION_TIMEOUT_MS: Final = 30_000
#: The protocol of 2.8's tools for a topic's znode, which every broker reads. The controller gives
#: the topic its id, if its release has ids.
TOOL_PROTOCOL: Final[ProtocolVersion] = (2, 8)


class ZooKeeperClientTimeoutError(ToolError):
    """No ZooKeeper answers there."""

    def __init__(self) -> None:
        super().__init__(
            "kafka.zookeeper.ZooKeeperClientTimeoutException",
            "Timed out waiting for connection while in state: CONNECTING",
        )


@contextlib.asynccontextmanager
async def zookeeper(connect: str) -> AsyncIterator[KafkaZkClient]:
    """Connect to `connect`, host:port[,host:port…][/chroot].

    Raises ZooKeeperClientTimeoutError, ToolError(IllegalArgumentException).
    """
    try:
        client = KazooZkClient(connect, SESSION_TIMEOUT_MS)
    except ValueError:
        raise illegal_argument(
            f"{connect} is not host:port[,host:port…][/chroot], as 127.0.0.1:2181"
        ) from None
    zk = KafkaZkClient(
        client,
        SystemTime(),
        inter_broker_protocol=TOOL_PROTOCOL,
        max_in_flight=default_config().zookeeper_max_in_flight_requests,
    )
    try:
        await zk.start(lambda _: None, lambda _: None, CONNECTION_TIMEOUT_MS)
    except ZkError as error:
        raise ZooKeeperClientTimeoutError from error
    try:
        yield zk
    finally:
        await zk.close()
