"""Each test breaks one hop of a request, in a whole broker in virtual time. The watchdog names this
hop.
"""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.network.channel import KafkaChannel
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.network.processor import Processor
from kafka_edu.network.request_channel import RequestChannel
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.fetch import FetchRequest
from kafka_edu.protocol.messages.join_group import JoinGroupRequest
from kafka_edu.protocol.messages.metadata import MetadataRequest
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_edu.protocol.messages.sync_group import SyncGroupRequest
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.replication.append import Append
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.request_timeouts import MAX_POLL_INTERVAL_MS, timeout_ms_of
from kafka_edu.sim.memory_transport import MemoryWire
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.events.server import RequestStuck

TP = TopicPartition("t", 0)
TIMEOUT_MS = 2_000


def _no_handler(monkeypatch: pytest.MonkeyPatch, is_ours: Callable[[Any], bool]) -> None:
    """The request is put into a queue that nobody empties."""
    put = RequestChannel._put
    monkeypatch.setattr(
        RequestChannel,
        "_put",
        lambda self, request: None if is_ours(request) else put(self, request),
    )


def _handler_forgets(monkeypatch: pytest.MonkeyPatch, is_ours: Callable[[Any], bool]) -> None:
    """The handler returns without an answer and without leaving the request to a purgatory."""
    monkeypatch.setattr(Append, "append_records", lambda self, *arguments, **named: None)
    monkeypatch.setattr(ApiCall, "waits", lambda self: None)


def _timer_stands(monkeypatch: pytest.MonkeyPatch, is_ours: Callable[[Any], bool]) -> None:
    """The time-outs of the purgatories never come."""
    monkeypatch.setattr(DelayedOperationPurgatory, "advance_clock", lambda self, now_ms: 0)
    monkeypatch.setattr(DelayedOperationPurgatory, "next_expiration_ms", lambda self: None)
    monkeypatch.setattr(DelayedOperationPurgatory, "check_and_complete", lambda self, key: 0)


def _nobody_is_woken(monkeypatch: pytest.MonkeyPatch, is_ours: Callable[[Any], bool]) -> None:
    """The response is queued, but its processor is not woken."""
    process = Processor.process_new_responses

    def process_new_responses(self: Processor) -> None:
        if not any(is_ours(request) for request, _ in self._responses):
            process(self)

    monkeypatch.setattr(Processor, "process_new_responses", process_new_responses)


def _socket_stands(monkeypatch: pytest.MonkeyPatch, is_ours: Callable[[Any], bool]) -> None:
    """The client's kernel accepts nothing."""
    send = Processor._send

    def send_ours_to_nobody(
        self: Processor, channel: KafkaChannel, request: Any, parts: Any
    ) -> None:
        if is_ours(request):
            monkeypatch.setattr(MemoryWire, "send", lambda wire, parts: None)
        send(self, channel, request, parts)

    monkeypatch.setattr(Processor, "_send", send_ours_to_nobody)


def _nobody_reads(monkeypatch: pytest.MonkeyPatch, is_ours: Callable[[Any], bool]) -> None:
    """The channel is free, but its wire stays paused."""
    deliver = MemoryWire._deliver

    def deliver_to_others(self: MemoryWire) -> None:
        if not (
            isinstance(self._receiver, KafkaChannel)
            and any(b"ours" in piece for piece in self._arrived)
        ):
            deliver(self)

    monkeypatch.setattr(MemoryWire, "_deliver", deliver_to_others)


def _of_our_client(cluster: SimCluster) -> list[RequestStuck]:
    """Return the events of our client, and of connections without a client id.

    If the purgatories fail, the followers' fetches get stuck too. A connection whose first request
    was never read has no client id.
    """
    told = [e.event for e in cluster.facts(RequestStuck)]
    return [
        event
        for event in told
        if isinstance(event, RequestStuck) and event.client_id in ("ours", "")
    ]


@pytest.mark.parametrize(
    ("inject", "hop", "timeout_ms"),
    [
        (_no_handler, "request queue", TIMEOUT_MS),
        (_handler_forgets, "handler", TIMEOUT_MS),
        (_timer_stands, "purgatory", TIMEOUT_MS),
        (_nobody_is_woken, "response queue", TIMEOUT_MS),
        (_socket_stands, "socket", 30_000),
        (_nobody_reads, "unread", 0),
    ],
)
def test_a_request_that_stands_still_is_told_with_its_hop(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    inject: Any,
    hop: str,
    timeout_ms: int,
) -> None:
    cluster = SimCluster(5, (1, 2))
    cluster.start_all()
    client = SimClient(cluster)
    assert cluster.run_as(client.process, client.create_topic("t", 1, 2)) is Errors.NONE
    cluster.advance(1000)
    leader = cluster.run_as(client.process, client.leader_of(TP))
    if hop == "purgatory":
        cluster.pause(3 - leader)
    inject(monkeypatch, lambda request: request.header.api_key == ApiKey.PRODUCE)

    async def ask() -> None:
        connection = NetworkClient(cluster.network.transport(), "ours")
        await connection.connect("127.0.0.1", cluster.port(leader), 1000)
        batch = build_batch([Record(0, cluster.time.milliseconds(), None, b"v", ())])
        data = TopicProduceData(
            name=TP.topic, partition_data=[PartitionProduceData(index=TP.partition, records=batch)]
        )
        await connection.send(
            ProduceRequest(acks=-1, timeout_ms=TIMEOUT_MS, topic_data=[data]), 7, 3_600_000
        )

    cluster.loop.spawn(client.process, ask())
    with caplog.at_level(logging.WARNING):
        cluster.advance(timeout_ms + 1000)
        assert _of_our_client(cluster) == []
        cluster.advance(4000)
    found = _of_our_client(cluster)
    assert [(e.hop, e.timeout_ms) for e in found] == [(hop, timeout_ms)]
    assert found[0].api_key == (-1 if hop == "unread" else ApiKey.PRODUCE)
    assert f"waits in the hop '{hop}'" in caplog.text
    cluster.advance(5000)
    assert len(_of_our_client(cluster)) == 1, "the event is emitted once"
    cluster.close()


def test_a_cluster_at_work_has_no_stuck_requests_though_a_broker_stands_still_for_a_while() -> None:
    cluster = SimCluster(6, (1, 2, 3))
    cluster.start_all()
    client = SimClient(cluster)
    assert cluster.run_as(client.process, client.create_topic("t", 3, 3)) is Errors.NONE
    answers = []
    for round_number in range(30):
        if round_number == 10:
            cluster.pause(1)
        if round_number == 18:
            cluster.resume(1)
        answers += [
            client.produce(TopicPartition("t", p), f"{round_number}", -1, 3_000) for p in range(3)
        ]
        cluster.advance(1000)
    cluster.advance(10_000)
    assert cluster.facts(RequestStuck) == []
    assert sum(answer.acked is not None for answer in answers) > 60
    cluster.close()


def test_the_time_out_is_the_requests_own() -> None:
    assert timeout_ms_of(ProduceRequest(acks=-1, timeout_ms=700, topic_data=[])) == 700
    assert (
        timeout_ms_of(
            FetchRequest(
                replica_id=-1, max_wait_ms=500, min_bytes=1, topics=[], forgotten_topics_data=[]
            )
        )
        == 500
    )
    join = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        member_id="",
        protocol_type="consumer",
        protocols=[],
    )
    assert timeout_ms_of(join) == 60_000
    assert (
        timeout_ms_of(
            SyncGroupRequest(group_id="g", generation_id=1, member_id="m", assignments=[])
        )
        == MAX_POLL_INTERVAL_MS
    )
    assert timeout_ms_of(MetadataRequest(topics=[])) is None
