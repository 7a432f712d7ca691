"""Commits and lookups of offsets by old versions of the protocol, which our clients do not speak.

Version 0 is from the time of ZooKeeper: any broker accepts it, and stores the offset in a znode.
Versions 2 to 4 can name a time after which the broker removes the offset.
"""

from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafka_edu.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)

IN_ZOOKEEPER: Final = 0
WITH_RETENTION: Final = 2
CLIENT: Final = "old-client"
TIMEOUT_MS: Final = 30_000
FOR_EVER: Final = -1


async def commit(
    server: str,
    group: str,
    tp: TopicPartition,
    offset: int,
    *,
    version: int,
    retention_ms: int = FOR_EVER,
) -> None:
    """Commit one offset at a broker (host:port). Raises KafkaException if the broker refuses it.

    `retention_ms` is the time for which the broker keeps the offset. Version 0 has no such field.
    """
    request = OffsetCommitRequest(
        group_id=group,
        member_id="",
        retention_time_ms=retention_ms,
        topics=[
            OffsetCommitRequestTopic(
                name=tp.topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=tp.partition, committed_offset=offset, committed_metadata=""
                    )
                ],
            )
        ],
    )
    client = await _connected(server)
    try:
        answer = await client.ask(request, version, OffsetCommitResponse, TIMEOUT_MS)
    finally:
        client.close()
    error = Errors(answer.topics[0].partitions[0].error_code)
    if error is not Errors.NONE:
        raise KafkaException(error)


async def committed_in_zookeeper(server: str, group: str, tp: TopicPartition) -> int:
    """Return the offset that ZooKeeper has, or -1."""
    topic = OffsetFetchRequestTopic(name=tp.topic, partition_indexes=[tp.partition])
    request = OffsetFetchRequest(group_id=group, topics=[topic])
    client = await _connected(server)
    try:
        answer = await client.ask(request, IN_ZOOKEEPER, OffsetFetchResponse, TIMEOUT_MS)
    finally:
        client.close()
    return answer.topics[0].partitions[0].committed_offset


async def _connected(server: str) -> NetworkClient:
    host, _, port = server.rpartition(":")
    client = NetworkClient(SocketTransport(), CLIENT)
    await client.connect(host, int(port), TIMEOUT_MS)
    return client
