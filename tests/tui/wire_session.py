"""Make frames of real clients for the screen Wire, for its recording and its live test.

    python -m tests.tui.wire_session tests/tui/recordings/wire-session.capture.gz

There are three clients: a modern client (confluent-kafka), a client that speaks the protocol of
Kafka 0.9 (kcat with broker.version.fallback), and a client that sends broken frames. The brokers
capture only the frames of these clients.
"""

import gzip
import socket
import subprocess
import sys
from pathlib import Path

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.common.transport import part_bytes
from kafka_edu.instruments.wire.capture import read_capture
from kafka_edu.protocol.capture_format import encode_frame, encode_header
from kafka_edu.protocol.headers import encode_request
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_edu.supervisor.action_client import ActionAddress, ActionClient
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.waiting import PATIENCE_S, wait_for

CLIENTS = "shop,shop-reader,old-shop,stranger"
TOPIC = "web"


def create_topic(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "client.id": "admin"})
    for done in admin.create_topics([NewTopic(TOPIC, 1, 1)]).values():
        done.result(PATIENCE_S)


def produce(bootstrap: str) -> None:
    """Produce a batch with keys and headers, and a compressed one."""
    for codec, values in (("none", [b"first order", b"second order"]), ("gzip", [b"x" * 300] * 8)):
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": "shop",
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 50,
                "compression.type": codec,
            }
        )
        for number, value in enumerate(values):
            producer.produce(
                TOPIC, value, key=f"order-{number}", partition=0, headers=[("trace", b"abc")]
            )
        assert producer.flush(PATIENCE_S) == 0


def consume(bootstrap: str) -> None:
    """Read everything as a group, and commit."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": "shop-reader",
            "group.id": "readers",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([TOPIC])
    read = 0
    while read < 10:
        message = consumer.poll(PATIENCE_S)
        assert message is not None, "no record came"
        assert message.error() is None, message.error()
        read += 1
    consumer.commit(asynchronous=False)
    consumer.close()


def speak_as_in_0_9(bootstrap: str) -> None:
    """Produce one record with kcat, which sends no ApiVersions request and uses the versions of
    Kafka 0.9.
    """
    old = "api.version.request=false broker.version.fallback=0.9.0.1 client.id=old-shop"
    options = [word for setting in old.split() for word in ("-X", setting)]
    subprocess.run(
        ["kcat", "-b", bootstrap, "-P", "-t", TOPIC, "-p", "0", *options],
        input=b"an order from the old days\n",
        check=True,
        timeout=60,
    )


def send_broken_frames(bootstrap: str) -> None:
    """Send a valid request, and then on the same connection a request in which the length of the
    topic's name is wrong. The broker refuses the second one.
    """
    host, port = bootstrap.split(",")[0].rsplit(":", 1)
    request = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])

    def frame(number: int) -> bytes:
        parts = encode_request(request, 9, number, "stranger")
        return b"".join(bytes(part_bytes(part)) for part in parts)

    broken = frame(2).replace(b"\x04web", b"\x7fweb")
    assert broken != frame(2)
    with socket.create_connection((host, int(port)), 30) as connection:
        connection.sendall(frame(1))
        assert connection.recv(4096)
        connection.sendall(broken)
        while connection.recv(4096):
            pass  # the broker closes the connection


def capture(cluster: Cluster, clients: str) -> None:
    """Let all brokers capture these clients' frames, and wait until they do."""
    with ActionClient(ActionAddress.read(cluster.folder.action_address)) as client:
        client.ask("capture", clients=clients)
    wait_for(lambda: len(cluster.folder.captures()) == len(cluster.spec.brokers), "the captures")


def main(argv: list[str]) -> int:
    path = Path(argv[0])
    with running_cluster("wire", brokers=1) as cluster:
        create_topic(cluster.bootstrap_servers)
        capture(cluster, CLIENTS)
        produce(cluster.bootstrap_servers)
        consume(cluster.bootstrap_servers)
        speak_as_in_0_9(cluster.bootstrap_servers)
        send_broken_frames(cluster.bootstrap_servers)
        frames = read_capture(cluster.folder.captures()[0])
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        file.write(encode_header(0))
        for frame in frames:
            file.write(encode_frame(frame))
    print(f"{len(frames)} frames, {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
