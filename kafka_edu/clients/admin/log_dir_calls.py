"""The admin client's calls about log dirs: describe_log_dirs and alter_replica_log_dirs."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from kafka_edu.clients.admin.admin_call import (
    AdminCall,
    Broker,
    Requested,
    by_topic,
    expect,
    failed,
)
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from kafka_edu.protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from kafka_edu.protocol.schema import Message


class ReplicaInfo(NamedTuple):
    """One replica in a log dir (Kafka: ReplicaInfo.java)."""

    size: int
    """The bytes of its segments."""
    offset_lag: int
    is_future: bool
    """Whether it is the copy that a move between log dirs is building in this log dir."""


class LogDirDescription(NamedTuple):
    """The replicas of one log dir, or the error because of which it cannot be used."""

    error: Errors
    replicas: Mapping[TopicPartition, ReplicaInfo]


class BrokerReplica(NamedTuple):
    """A partition and a broker, which identify a replica (Kafka: TopicPartitionReplica.java)."""

    partition: TopicPartition
    broker: int


def describe_log_dirs(
    brokers: Collection[int],
) -> AdminCall[int, dict[str, LogDirDescription]]:
    def read(
        requested: Requested[int], answer: Message
    ) -> dict[int, dict[str, LogDirDescription] | ClientException]:
        log_dirs = {
            each.log_dir: LogDirDescription(
                Errors.of(each.error_code),
                {
                    TopicPartition(topic.name, part.partition_index): ReplicaInfo(
                        part.partition_size, part.offset_lag, part.is_future_key
                    )
                    for topic in each.topics
                    for part in topic.partitions
                },
            )
            for each in expect(DescribeLogDirsResponse, answer).results
        }
        # Only one item, because each broker gets its own request.
        return dict.fromkeys(requested.items, log_dirs)

    return AdminCall(
        "describe_log_dirs",
        (ApiKey.DESCRIBE_LOG_DIRS,),
        {broker: Broker(broker) for broker in brokers},
        lambda _, form: DescribeLogDirsRequest(topics=None),
        read,
    )


def alter_replica_log_dirs(
    moves: Mapping[BrokerReplica, str],
) -> AdminCall[BrokerReplica, None]:
    def write(chosen: Sequence[BrokerReplica]) -> Message:
        by_path: dict[str, list[TopicPartition]] = {}
        for replica in chosen:
            by_path.setdefault(moves[replica], []).append(replica.partition)
        return AlterReplicaLogDirsRequest(
            dirs=[
                AlterReplicaLogDir(
                    path=path,
                    topics=[
                        AlterReplicaLogDirTopic(name=topic, partitions=numbers)
                        for topic, numbers in by_topic(partitions).items()
                    ],
                )
                for path, partitions in by_path.items()
            ]
        )

    def read(
        requested: Requested[BrokerReplica], answer: Message
    ) -> dict[BrokerReplica, ClientException | None]:
        return {
            BrokerReplica(
                TopicPartition(topic.topic_name, each.partition_index), requested.node.id
            ): failed(each.error_code)
            for topic in expect(AlterReplicaLogDirsResponse, answer).results
            for each in topic.partitions
        }

    return AdminCall(
        "alter_replica_log_dirs",
        (ApiKey.ALTER_REPLICA_LOG_DIRS,),
        {replica: Broker(replica.broker) for replica in moves},
        lambda chosen, form: write(chosen),
        read,
    )
