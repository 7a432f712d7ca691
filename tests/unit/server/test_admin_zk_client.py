"""The racks that count when replicas are assigned through ZooKeeper alone."""

import asyncio
from random import Random

import pytest

from kafka_edu.cluster.broker import Broker
from kafka_edu.server.admin.admin_zk_client import AdminOperationError, AdminZkClient, RackAwareMode


class FakeZk:
    """Three live brokers. The third one gives no rack."""

    async def get_all_brokers_in_cluster(self):
        return {
            number: Broker(number, (), rack) for number, rack in ((1, "a"), (2, "b"), (3, None))
        }


def racks(mode, among=None):
    return asyncio.run(AdminZkClient(FakeZk(), Random(1)).get_broker_racks(mode, among))


def test_only_the_brokers_that_are_asked_for_count():
    assert racks(RackAwareMode.ENFORCED, (1, 2)) == {1: "a", 2: "b"}
    assert racks(RackAwareMode.DISABLED, (2, 3, 9)) == {2: None, 3: None}
    with pytest.raises(AdminOperationError, match="Not all brokers have rack information"):
        racks(RackAwareMode.ENFORCED)
