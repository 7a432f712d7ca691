"""DescribeLogDirs and AlterReplicaLogDirs (Kafka: KafkaApis.handleDescribeLogDirsRequest,
handleAlterReplicaLogDirsRequest; KIP-113).

Every broker answers for its own log dirs. ReplicaLogDirs does the work.
"""

import asyncio

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from kafka_edu.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from kafka_edu.replication.replica_log_dirs import ReplicaLogDirs
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis


class LogDirsApi:
    """Describes the log dirs of this broker, and starts moves of replicas between them.

    The lock `role_changes` is held while moves are started, so that no LeaderAndIsr or StopReplica
    request runs at the same time (Kafka: replicaStateChangeLock).
    """

    def __init__(self, log_dirs: ReplicaLogDirs, role_changes: asyncio.Lock) -> None:
        self._log_dirs = log_dirs
        self._role_changes = role_changes

    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.DESCRIBE_LOG_DIRS,
            DescribeLogDirsRequest,
            self.handle_describe,
            self._describe_error,
        )
        apis.serve(
            ApiKey.ALTER_REPLICA_LOG_DIRS,
            AlterReplicaLogDirsRequest,
            self.handle_alter,
            self._alter_error,
        )

    def handle_describe(self, call: ApiCall, request: DescribeLogDirsRequest) -> None:
        """Answer with the replicas in each log dir. If the request's list of topics is null,
        include all replicas. Otherwise the topics that were not requested are listed without
        partitions, as in Kafka.
        """
        wanted = (
            None
            if request.topics is None
            else {
                TopicPartition(t.topic, number)
                for t in request.topics
                for number in t.partition_index
            }
        )
        results = []
        for log_dir, (error, topics) in self._log_dirs.describe(wanted).items():
            described = [
                DescribeLogDirsTopic(
                    name=topic,
                    partitions=[
                        DescribeLogDirsPartition(
                            partition_index=r.partition,
                            partition_size=r.size,
                            offset_lag=r.offset_lag,
                            is_future_key=r.is_future,
                        )
                        for r in replicas
                    ],
                )
                for topic, replicas in topics.items()
            ]
            results.append(
                DescribeLogDirsResult(error_code=error, log_dir=log_dir, topics=described)
            )
        call.respond(DescribeLogDirsResponse(results=results))

    async def handle_alter(self, call: ApiCall, request: AlterReplicaLogDirsRequest) -> None:
        wanted = {
            TopicPartition(t.name, number): log_dir.path
            for log_dir in request.dirs
            for t in log_dir.topics
            for number in t.partitions
        }
        async with self._role_changes:
            errors = await self._log_dirs.alter(wanted)
        call.respond(_alter_response(errors))

    @staticmethod
    def _describe_error(
        _: DescribeLogDirsRequest, __: int, ___: Errors, ____: str
    ) -> DescribeLogDirsResponse:
        return DescribeLogDirsResponse()

    @staticmethod
    def _alter_error(
        request: AlterReplicaLogDirsRequest, _: int, error: Errors, __: str
    ) -> AlterReplicaLogDirsResponse:
        return _alter_response(
            {
                TopicPartition(t.name, number): error
                for d in request.dirs
                for t in d.topics
                for number in t.partitions
            }
        )


def _alter_response(errors: dict[TopicPartition, Errors]) -> AlterReplicaLogDirsResponse:
    topics: dict[str, AlterReplicaLogDirTopicResult] = {}
    for tp, error in errors.items():
        topic = topics.setdefault(
            tp.topic, AlterReplicaLogDirTopicResult(topic_name=tp.topic, partitions=[])
        )
        topic.partitions.append(
            AlterReplicaLogDirPartitionResult(partition_index=tp.partition, error_code=error)
        )
    return AlterReplicaLogDirsResponse(results=list(topics.values()))
