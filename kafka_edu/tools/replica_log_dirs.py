"""Find and change the log directories of replicas, for the tool reassign-partitions (KIP-113)."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.log_dir_calls import BrokerReplica
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.tools.reassignment_file import Replica
from kafka_edu.tools.tool import command_failed, java_class, text_of


class LogDirs(NamedTuple):
    """A replica's present log directory, and the directory to which it is moving. "" means none."""

    current: str = ""
    future: str = ""


async def alter_log_dirs(admin: Admin, wanted: Mapping[Replica, str]) -> set[Replica]:
    """Request each replica's move into its log directory.

    Return the replicas that are already there or are moving there. Leave out replicas that their
    broker does not have yet. Raises ToolError for a replica that the broker refuses.
    """
    alive = await _alive(admin)
    moves = {
        BrokerReplica(TopicPartition(each.topic, each.partition), each.broker_id): log_dir
        for each, log_dir in wanted.items()
        if each.broker_id in alive
    }
    results = await admin.alter_replica_log_dirs(moves)
    for refused, error in results.errors.items():
        if error.error is not Errors.REPLICA_NOT_AVAILABLE:
            raise command_failed(
                f"Failed to alter dir for {_replica(*refused)}\nCaused by: {java_class(error)}:"
                f" {text_of(error)}"
            )
    return {_replica(*accepted) for accepted in results.values}


async def describe_log_dirs(admin: Admin, replicas: Collection[Replica]) -> dict[Replica, LogDirs]:
    """Return the log directories of the replicas. Replicas that no broker has are left out."""
    brokers = sorted({replica.broker_id for replica in replicas} & await _alive(admin))
    found: dict[Replica, LogDirs] = {}
    for broker, log_dirs in (await admin.describe_log_dirs(brokers)).all().items():
        for path, log_dir in log_dirs.items():
            for tp, info in log_dir.replicas.items():
                replica = _replica(tp, broker)
                known = found.get(replica, LogDirs())
                found[replica] = (
                    known._replace(future=path) if info.is_future else known._replace(current=path)
                )
    return {replica: dirs for replica, dirs in found.items() if replica in replicas}


async def _alive(admin: Admin) -> set[int]:
    return {node.id for node in (await admin.describe_cluster()).nodes}


def _replica(tp: TopicPartition, broker: int) -> Replica:
    return Replica(tp.topic, tp.partition, broker)
