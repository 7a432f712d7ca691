"""What `reassign-partitions` with --bootstrap-server makes of the answers of the admin client."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

import pytest

from kafka_edu.clients.admin.admin_call import Results, results_of
from kafka_edu.clients.admin.cluster_calls import ClusterDescription
from kafka_edu.clients.admin.topic_calls import TopicDescription
from kafka_edu.clients.client_errors import BrokerException, ClientException, TimeoutException
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.tools.reassign_by_brokers import BrokerReassignments
from kafka_edu.tools.tool import ToolError

GENERATE = '{"version":1,"topics":[{"topic":"t"}]}'
VERIFY = '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1]}]}'


class FakeAdmin:
    """Stands for the client. No reassignment runs, and the topic has an error."""

    def __init__(self, error: ClientException) -> None:
        self._error = error

    async def describe_topics(self, topics: Collection[str]) -> Results[str, TopicDescription]:
        return results_of((topic, self._error) for topic in topics)

    async def list_partition_reassignments(self) -> Mapping[TopicPartition, object]:
        return {}

    async def describe_cluster(self) -> ClusterDescription:
        return ClusterDescription("c", None, ())

    async def describe_log_dirs(self, brokers: Collection[int]) -> Results[int, Any]:
        return results_of([])


def reassignments(error: ClientException) -> BrokerReassignments:
    admin: Any = FakeAdmin(error)
    return BrokerReassignments(admin)


def test_a_topic_that_does_not_exist() -> None:
    of_missing = reassignments(BrokerException(Errors.UNKNOWN_TOPIC_OR_PARTITION))
    with pytest.raises(ToolError, match="This server does not host this topic-partition"):
        asyncio.run(of_missing.generate(GENERATE, "1", rack_aware=False))


def test_verify_of_a_topic_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    of_missing = reassignments(BrokerException(Errors.UNKNOWN_TOPIC_OR_PARTITION))
    asyncio.run(of_missing.verify(VERIFY, preserve_throttles=True))
    assert "There is no active reassignment of partition t-0" in capsys.readouterr().out


def test_a_topic_about_which_no_broker_answered_is_not_called_missing() -> None:
    late = reassignments(TimeoutException("no answer"))
    with pytest.raises(ToolError, match="TimeoutException: no answer"):
        asyncio.run(late.verify(VERIFY, preserve_throttles=True))
    with pytest.raises(ToolError, match="TimeoutException: no answer"):
        asyncio.run(late.generate(GENERATE, "1", rack_aware=False))
