"""A leader's broker asks the controller for a new ISR (KIP-497)."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.isr_alterations import AlteredIsr

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster

T0, UNKNOWN = TopicPartition("t", 0), TopicPartition("nowhere", 0)


def state(cluster: "ControllerCluster") -> LeaderAndIsr:
    term = cluster.controller.controller._term
    assert term is not None
    known = term.context.partition_leadership_info(T0)
    assert known is not None
    return known.leader_and_isr


def altered(
    cluster: "ControllerCluster",
    wanted: dict[TopicPartition, LeaderAndIsr],
    broker_epoch: int | None = None,
) -> dict[TopicPartition, AlteredIsr]:
    epoch = cluster.brokers[2].controller.broker_epoch if broker_epoch is None else broker_epoch

    async def ask() -> dict[TopicPartition, AlteredIsr]:
        async with asyncio.timeout(60):
            return await cluster.controller.controller.alter_isrs(2, epoch, wanted)

    return cluster.run(ask())


def test_the_new_isr_is_written_and_known(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [2, 1])
    before = state(cluster)
    results = altered(cluster, {T0: before._replace(isr=(2,))})
    assert results[T0].error is Errors.NONE
    assert results[T0].state == state(cluster)
    assert state(cluster).isr == (2,)
    assert state(cluster).zk_version == before.zk_version + 1
    (fact,) = cluster.controller.facts("IsrAltered")
    assert fact.isr == (2,)  # type: ignore[attr-defined]
    again = altered(cluster, {T0: before._replace(isr=(2,))})
    assert again[T0] == AlteredIsr(Errors.NONE, state(cluster)), "it is so already"


def test_each_partition_has_its_own_error(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [2, 1])
    before = state(cluster)
    fenced = before._replace(leader_epoch=before.leader_epoch - 1, isr=(2,))
    results = altered(cluster, {T0: fenced, UNKNOWN: before})
    assert results[T0].error is Errors.FENCED_LEADER_EPOCH
    assert results[UNKNOWN].error is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert state(cluster) == before


def test_a_leader_that_knows_an_older_version_of_the_state_is_refused(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [2, 1])
    before = state(cluster)
    altered(cluster, {T0: before._replace(isr=(2,))})
    again = altered(cluster, {T0: before._replace(isr=(2, 1))})
    assert again[T0].error is Errors.INVALID_UPDATE_VERSION
    assert state(cluster).isr == (2,)


def test_a_broker_that_has_restarted_since_is_refused(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [2, 1])
    with pytest.raises(KafkaException) as refused:
        altered(cluster, {T0: state(cluster)._replace(isr=(2,))}, broker_epoch=0)
    assert refused.value.error is Errors.STALE_BROKER_EPOCH
