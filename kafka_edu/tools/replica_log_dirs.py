"""Find and change the log directories of replicas, for the tool reassign-partitions (KIP-113).

Each broker gets a request about its own replicas.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from kafka_edu.clients.admin.brokers import Brokers
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from kafka_edu.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from kafka_edu.tools.reassignment_file import Replica
from kafka_edu.tools.tool import command_failed, java_class, text_of


class LogDirs(NamedTuple):
    """A replica's present log directory, and the one it is moving to. "" means none."""

    current: str = ""
    future: str = ""


async def alter_log_dirs(brokers: Brokers, wanted: Mapping[Replica, str]) -> set[Replica]:
    """Request each replica's move into its log directory.

    Return the replicas that are there or on their way. A replica that its broker does not have yet
    is left out. Raises ToolError for a replica that the broker refuses.
    """
    accepted: set[Replica] = set()
    for broker_id in sorted({replica.broker_id for replica in wanted}):
        of_broker = {
            replica: log_dir
            for replica, log_dir in wanted.items()
            if replica.broker_id == broker_id
        }
        if broker_id not in brokers.nodes:
            continue
        dirs = []
        for log_dir in sorted(set(of_broker.values())):
            topics: dict[str, list[int]] = {}
            for replica in of_broker:
                if of_broker[replica] == log_dir:
                    topics.setdefault(replica.topic, []).append(replica.partition)
            listed = [
                AlterReplicaLogDirTopic(name=topic, partitions=numbers)
                for topic, numbers in topics.items()
            ]
            dirs.append(AlterReplicaLogDir(path=log_dir, topics=listed))
        answer = await brokers.ask(
            brokers.nodes[broker_id],
            AlterReplicaLogDirsRequest(dirs=dirs),
            AlterReplicaLogDirsResponse,
        )
        for topic in answer.results:
            for part in topic.partitions:
                replica = Replica(topic.topic_name, part.partition_index, broker_id)
                if part.error_code == Errors.NONE:
                    accepted.add(replica)
                elif part.error_code != Errors.REPLICA_NOT_AVAILABLE:
                    error = KafkaException(Errors.of(part.error_code))
                    raise command_failed(
                        f"Failed to alter dir for {replica}\nCaused by: {java_class(error)}:"
                        f" {text_of(error)}"
                    )
    return accepted


async def describe_log_dirs(
    brokers: Brokers, replicas: Collection[Replica]
) -> dict[Replica, LogDirs]:
    """Return the log directories of the replicas. Replicas that no broker has are left out."""
    found: dict[Replica, LogDirs] = {}
    for broker_id in sorted({replica.broker_id for replica in replicas} & set(brokers.nodes)):
        topics: dict[str, list[int]] = {}
        for replica in replicas:
            if replica.broker_id == broker_id:
                topics.setdefault(replica.topic, []).append(replica.partition)
        request = DescribeLogDirsRequest(
            topics=[
                DescribableLogDirTopic(topic=topic, partition_index=numbers)
                for topic, numbers in topics.items()
            ]
        )
        answer = await brokers.ask(brokers.nodes[broker_id], request, DescribeLogDirsResponse)
        for log_dir in answer.results:
            for topic in log_dir.topics:
                for part in topic.partitions:
                    replica = Replica(topic.name, part.partition_index, broker_id)
                    known = found.get(replica, LogDirs())
                    found[replica] = (
                        known._replace(future=log_dir.log_dir)
                        if part.is_future_key
                        else known._replace(current=log_dir.log_dir)
                    )
    return {replica: dirs for replica, dirs in found.items() if replica in replicas}
