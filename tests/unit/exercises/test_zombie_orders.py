"""Exercise 04-5: a broker answers as the rules say, and each run has one thing to find."""

from random import Random

import pytest

from exercises.ch04_controller.ex05_zombie.material import make, run
from exercises.ch04_controller.ex05_zombie.public_tests import some_states
from exercises.ch04_controller.orders_rules import METHODS, Answer, Order, RightOrders
from kafka_edu.common.errors import Errors
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
)
from kafka_edu.protocol.messages.stop_replica import (
    StopReplicaPartitionV0,
    StopReplicaRequest,
    StopReplicaResponse,
)
from kafka_edu.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.sim_loop import SimProcess

SEEDS = range(12)
BROKER = 0
ABOVE = 100
"""The broker's own controller has epoch 1: those of the test are higher."""
TIMEOUT_MS = 10_000


async def ask(client: NetworkClient, order: Order) -> Answer:
    """Send an order (a controller's request) to the broker. Return the answer as the rules write
    it.
    """
    epoch = order.controller_epoch + ABOVE
    places = [
        (*state.partition.rsplit("-", 1), state.leader_epoch) for state in order.states
    ]  # (topic, number, leader epoch)
    common = {"leader": BROKER, "isr": [BROKER], "zk_version": 0, "replicas": [BROKER]}
    if order.api is ApiKey.UPDATE_METADATA:
        metadata = UpdateMetadataRequest(
            controller_id=order.controller,
            controller_epoch=epoch,
            ungrouped_partition_states=[
                UpdateMetadataPartitionState(
                    topic_name=topic,
                    partition_index=int(number),
                    controller_epoch=epoch,
                    leader_epoch=leader_epoch,
                    **common,
                )
                for topic, number, leader_epoch in places
            ],
            live_brokers=[],
        )
        told = await client.ask(metadata, 4, UpdateMetadataResponse, TIMEOUT_MS)
        return Errors.of(told.error_code).name
    if order.api is ApiKey.STOP_REPLICA:
        stop = StopReplicaRequest(
            controller_id=order.controller,
            controller_epoch=epoch,
            delete_partitions=True,
            ungrouped_partitions=[
                StopReplicaPartitionV0(topic_name=topic, partition_index=int(number))
                for topic, number, _ in places
            ],
        )
        answer: StopReplicaResponse | LeaderAndIsrResponse = await client.ask(
            stop, 0, StopReplicaResponse, TIMEOUT_MS
        )
    else:
        lead = LeaderAndIsrRequest(
            controller_id=order.controller,
            controller_epoch=epoch,
            ungrouped_partition_states=[
                LeaderAndIsrPartitionState(
                    topic_name=topic,
                    partition_index=int(number),
                    controller_epoch=epoch,
                    leader_epoch=leader_epoch,
                    **common,
                )
                for topic, number, leader_epoch in places
            ],
            live_leaders=[],
        )
        answer = await client.ask(lead, 1, LeaderAndIsrResponse, TIMEOUT_MS)
    errors = {
        f"{one.topic_name}-{one.partition_index}": Errors.of(one.error_code).name
        for one in answer.partition_errors
    }
    named = tuple((s.partition, errors[s.partition]) for s in order.states) if errors else ()
    return Errors.of(answer.error_code).name, named


def test_a_broker_answers_as_the_rules_say() -> None:
    cluster = SimCluster(5, (BROKER,))
    cluster.start_all()
    process = SimProcess("controllers")
    random = Random(5)
    orders = [
        Order(random.choice(list(METHODS)), epoch % 7, epoch, tuple(some_states(random, reign)))
        for reign in range(1, 40)
        for epoch in (max(1, reign - random.choice((0, 0, 0, 1, 2))) for _ in range(4))
    ]

    async def all_answers() -> list[Answer]:
        client = NetworkClient(cluster.network.transport(), "controllers")
        await client.connect("127.0.0.1", cluster.port(BROKER), TIMEOUT_MS)
        try:
            return [await ask(client, order) for order in orders]
        finally:
            client.close()

    try:
        came = cluster.run_as(process, all_answers())
    finally:
        cluster.close()
    right = RightOrders()
    expected = [right.do(order) for order in orders]
    assert list(zip(orders, came, strict=True)) == list(zip(orders, expected, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_each_run_has_one_thing_to_find(seed: int) -> None:
    made = run(seed)
    orders = [line for line in made.lines if line.order is not None]
    refused = [line for line in orders if not line.obeyed]
    assert made.lines[made.found.obeyed - 1].obeyed
    assert made.found.known < made.found.obeyed
    assert made.lines[made.found.known - 1].epoch > made.lines[made.found.obeyed - 1].epoch
    assert refused
    assert max(map(len, make(seed)["events.txt"].splitlines())) <= 88
