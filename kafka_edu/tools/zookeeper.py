"""Connect the tools with --zookeeper to ZooKeeper. Each run of a tool has one session."""

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
#: The protocol version of a topic's znode. It is the same as in the tools of 2.8.
#:
#: Every broker can read it. A controller whose release has topic ids adds the topic's id.
TOOL_PROTOCOL: Final[ProtocolVersion] = (2, 8)


class ZooKeeperClientTimeoutError(ToolError):
    """No ZooKeeper answers at the given address."""

    def __init__(self) -> None:
        super().__init__(
            "kafka.zookeeper.ZooKeeperClientTimeoutException",
            "Timed out waiting for connection while in state: CONNECTING",
        )


@contextlib.asynccontextmanager
async def zookeeper(connect: str) -> AsyncIterator[KafkaZkClient]:
    """Open a session. `connect` is host:port[,host:port…][/chroot].

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
