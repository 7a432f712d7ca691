"""A bug is injected into one hop of one request, while other requests are in the same hop. All
other requests are answered (docs/answers.md).
"""

import asyncio
from typing import Any

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.replication.delayed_produce import DelayedProduce
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.apis.produce import ProduceApi
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.events.network import ConnectionClosed
from kafka_edu.trace.events.server import RequestFailed

TP = TopicPartition("t", 0)
BROKEN = "broken"


class _Bug(Exception):
    """An exception that no error code covers."""


def _produce(cluster: SimCluster, timeout_ms: int = 5_000) -> ProduceRequest:
    batch = build_batch([Record(0, cluster.time.milliseconds(), None, b"v", ())])
    data = TopicProduceData(
        name=TP.topic, partition_data=[PartitionProduceData(index=TP.partition, records=batch)]
    )
    return ProduceRequest(acks=-1, timeout_ms=timeout_ms, topic_data=[data])


def _in_the_response(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inject a bug where a produce makes its response.

    A follower's fetch or a time-out completes the produce, so the response is made while a request
    of another connection is handled.
    """
    original = ProduceApi._respond

    def respond(self: Any, call: ApiCall, request: Any, results: Any) -> None:
        if call.client_id == BROKEN:
            raise _Bug("injected")
        original(self, call, request, results)

    monkeypatch.setattr(ProduceApi, "_respond", respond)


def _in_the_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inject a bug where a produce checks whether it is complete.

    The bug comes only when the produce waits in the timer. The first check, by the produce's own
    handler, works.
    """
    original = DelayedProduce.try_complete

    def try_complete(self: DelayedProduce) -> bool:
        call = getattr(self.on_failure, "__self__", None)
        if isinstance(call, ApiCall) and call.client_id == BROKEN and self.entry is not None:
            raise _Bug("injected")
        return original(self)

    monkeypatch.setattr(DelayedProduce, "try_complete", try_complete)


def _in_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    import kafka_edu.server.api_call as module

    encode = module.encode_response

    def encode_response(api_key: int, version: int, correlation_id: int, response: Any) -> Any:
        if (
            isinstance(response, ProduceResponse)
            and correlation_id == 0
            and response.responses[0].partition_responses[0].base_offset == 3
        ):
            raise _Bug("injected")
        return encode(api_key, version, correlation_id, response)

    monkeypatch.setattr(module, "encode_response", encode_response)


@pytest.mark.parametrize(
    ("inject", "ends_by"),
    [
        (_in_the_response, "a follower's fetch"),
        (_in_the_response, "time-out"),
        (_in_the_try, "a follower's fetch"),
        (_in_encoding, "a follower's fetch"),
        (_in_encoding, "time-out"),
    ],
)
def test_a_bug_in_one_waiting_produce_leaves_the_others_answered(
    monkeypatch: pytest.MonkeyPatch, inject: Any, ends_by: str
) -> None:
    cluster = SimCluster(11, (1, 2, 3))
    cluster.start_all()
    client = SimClient(cluster)
    assert cluster.run_as(client.process, client.create_topic("t", 1, 3)) is Errors.NONE
    cluster.advance(1000)
    leader = cluster.run_as(client.process, client.leader_of(TP))
    inject(monkeypatch)
    if ends_by == "time-out":
        for follower in {1, 2, 3} - {leader}:
            cluster.pause(follower)

    async def ask_all() -> list[Any]:
        clients = []
        for name in ("a", "b", "c", BROKEN, "d", "e"):
            connection = NetworkClient(cluster.network.transport(), name)
            await connection.connect("127.0.0.1", cluster.port(leader), 1000)
            clients.append(connection)
        waiting = []
        for connection in clients:  # one after the other, so that the fourth has offset 3
            waiting.append(asyncio.ensure_future(connection.send(_produce(cluster), 7, 6_000)))
            await asyncio.sleep(0.002)
        return await asyncio.gather(*waiting, return_exceptions=True)

    answers = cluster.run_as(client.process, ask_all(), 10_000)
    broken = answers.pop(3)
    assert isinstance(broken, ConnectionError), broken
    wanted = Errors.NONE if ends_by != "time-out" else Errors.REQUEST_TIMED_OUT
    assert [
        Errors.of(answer.responses[0].partition_responses[0].error_code) for answer in answers
    ] == [wanted] * 5
    failed = cluster.facts(RequestFailed)
    assert [e.event.error for e in failed if isinstance(e.event, RequestFailed)] == [
        "_Bug: injected"
    ]
    assert {e.event.connection_id for e in failed if isinstance(e.event, RequestFailed)} <= {
        e.event.connection_id
        for e in cluster.facts(ConnectionClosed)
        if isinstance(e.event, ConnectionClosed)
    }
    cluster.close()
