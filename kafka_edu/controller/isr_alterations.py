"""AlterIsr: the controller writes a new ISR when a leader requests it.

(Kafka: KafkaController.processAlterIsr; KIP-497.) Brokers of this project write their ISRs to
ZooKeeper themselves, as Kafka 2.0 did. In the same cluster there may be a Java broker with
inter.broker.protocol.version 2.7 or later. Such a broker sends AlterIsr to the controller. The
controller then needs no notification about the change.

Next: `ActiveController.alter_isrs` (active_controller.py) sends the new ISRs to all brokers.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_context import ControllerContext
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.controller import IsrAltered
from kafka_edu.zk.kafka_zk_client import KafkaZkClient


class AlteredIsr(NamedTuple):
    """The result of AlterIsr for one partition."""

    error: Errors
    state: LeaderAndIsr | None = None
    """The partition's state in ZooKeeper after the request; None if there is an error."""


async def alter_isrs(
    context: ControllerContext,
    zk: KafkaZkClient,
    broker_id: int,
    broker_epoch: int,
    wanted: Mapping[TopicPartition, LeaderAndIsr],
    tell: Callable[[Event], int] | None,
) -> dict[TopicPartition, AlteredIsr]:
    """Write the requested states, and return the result of each partition.

    A state is written only if its znode still has the version that the leader knows. The errors of
    a partition are UNKNOWN_TOPIC_OR_PARTITION; FENCED_LEADER_EPOCH if the leader epoch is too old;
    INVALID_UPDATE_VERSION if the znode was written in the meantime; and UNKNOWN_SERVER_ERROR.

    Raises KafkaException (STALE_BROKER_EPOCH) if the broker is not alive or has restarted since.
    """
    broker = context.live_broker(broker_id)
    if broker is None or broker.epoch != broker_epoch:
        raise KafkaException(Errors.STALE_BROKER_EPOCH)
    results: dict[TopicPartition, AlteredIsr] = {}
    to_write: dict[TopicPartition, LeaderAndIsr] = {}
    for tp, state in wanted.items():
        known = context.partition_leadership_info(tp)
        if known is None:
            results[tp] = AlteredIsr(Errors.UNKNOWN_TOPIC_OR_PARTITION)
        elif state.leader_epoch < known.leader_and_isr.leader_epoch:
            results[tp] = AlteredIsr(Errors.FENCED_LEADER_EPOCH)
        elif state._replace(zk_version=known.leader_and_isr.zk_version) == known.leader_and_isr:
            results[tp] = AlteredIsr(Errors.NONE, known.leader_and_isr)
        else:
            to_write[tp] = state
    written = await zk.update_leader_and_isr(to_write, context.epoch, context.epoch_zk_version)
    for tp, state in written.finished.items():
        results[tp] = AlteredIsr(Errors.NONE, state)
        before = context.partition_leadership_info(tp)
        if tell:
            isr_before = before.leader_and_isr.isr if before is not None else ()
            tell(
                IsrAltered(
                    topic=tp.topic,
                    partition=tp.partition,
                    leader=state.leader,
                    leader_epoch=state.leader_epoch,
                    isr_before=isr_before,
                    isr=state.isr,
                    zk_version=state.zk_version,
                )
            )
        context.put_partition_leadership_info(tp, LeaderIsrAndControllerEpoch(state, context.epoch))
    for tp in written.bad_version:
        results[tp] = AlteredIsr(Errors.INVALID_UPDATE_VERSION)
    for tp in written.failed:
        results[tp] = AlteredIsr(Errors.UNKNOWN_SERVER_ERROR)
    return results
