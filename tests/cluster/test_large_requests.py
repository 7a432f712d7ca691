"""Requests that are refused for their size cost a broker no memory afterwards."""

import random
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kafka_edu.clients.probe_requests import produce
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.messages.produce import ProduceResponse
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.supervisor.cluster import running_cluster
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.cluster

MB = 1_000_000
CLIENTS = 6


def peak_rss(pid: int) -> int:
    """Return the most memory that the process ever had, in bytes, mapped files included."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("Linux says VmHWM")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_six_refused_requests_of_100_mb_leave_nothing(tmp_path: Path) -> None:
    """The clients get Kafka's answer, and their connections stay open."""
    batch = build_batch([Record(0, 0, None, bytes(100 * MB))])
    probe = produce(random.Random(1), TopicPartition("t", 0), 0, acks=1, batch=batch)
    request = b"".join(map(bytes, encode_request(probe.request, probe.version, 5, "large")))

    with running_cluster("large", brokers=1, home=tmp_path) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.create_topics([NewTopic("t", 1, 1)])["t"].result(PATIENCE_S)
        host, _, port = cluster.bootstrap_servers.partition(":")

        def send_twice(_: int) -> list[Errors]:
            with socket.create_connection((host, int(port)), PATIENCE_S) as client:
                return [send(client) for _ in range(2)]

        def send(client: socket.socket) -> Errors:
            client.sendall(request)
            with client.makefile("rb") as answers:
                frame = answers.read(int.from_bytes(answers.read(4), "big"))
            _, response = decode_response(ApiKey.PRODUCE, probe.version, frame)
            assert isinstance(response, ProduceResponse)
            return Errors(response.responses[0].partition_responses[0].error_code)

        with ThreadPoolExecutor(CLIENTS) as clients:
            answers = list(clients.map(send_twice, range(CLIENTS)))
        assert answers == [[Errors.MESSAGE_TOO_LARGE] * 2] * CLIENTS
        [broker] = [each for each in cluster.status().processes if each.broker == 0]
        assert peak_rss(broker.pid) < 185 * MB
        wait_for(
            lambda: all((each.rss_anon or 0) < 40 * MB for each in cluster.status().processes),
            "the memory of all requests is given back",
        )
