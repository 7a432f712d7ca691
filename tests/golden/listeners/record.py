"""Ask Apache Kafka about listeners, and write its answers next to this file: `python -m
tests.golden.listeners.record`.

kafka-VERSION-configs.txt has one line for each line of cases.txt. kafka-VERSION-metadata.txt has
the answers to Metadata requests through each listener of the brokers in listener_cases.
"""

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from benchmarks.apache_kafka import RELEASES, SMALL, ApacheKafka, kafka_jars
from kafka_edu.common.ports import free_ports
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_edu.protocol.schema import Message
from tests.conformance.brokers import SocketLine
from tests.golden.listeners import listener_cases as story
from tests.waiting import wait_for

HERE: Final = Path(__file__).parent


class TwoDoors(ApacheKafka):
    """Apache Kafka whose brokers have the listeners of listener_cases."""

    def __init__(self, jars: Path) -> None:
        super().__init__(jars, story.BROKERS, ["log.cleaner.enable=false"], java=SMALL)
        self.outside = dict(enumerate(islice(free_ports("127.0.0.1"), story.BROKERS)))

    def _write(self, name: str, properties: Mapping[str, object]) -> None:
        kind, _, number = name.partition("-")
        own = (
            story.properties(int(number), dict(enumerate(self.ports)), self.outside)
            if kind == "broker"
            else {}
        )
        super()._write(name, {**properties, **own})


def ask(port: int, request: Message, version: int) -> Message:
    line = SocketLine("127.0.0.1", port)
    line.send(
        b"".join(bytes(part_bytes(part)) for part in encode_request(request, version, 1, "record"))
    )
    answer = line.receive()
    line.close()
    assert answer is not None, "it closed the connection"
    return decode_response(request.KEY or 0, version, answer)[1]


@contextlib.contextmanager
def two_doors(jars: Path) -> Iterator[TwoDoors]:
    """Run the brokers while the `with` block runs. When it begins, the topic exists and all its
    replicas are in sync.
    """
    kafka = TwoDoors(jars)
    try:
        kafka.up()
        inside = dict(enumerate(kafka.ports))
        cluster = ask(inside[0], MetadataRequest(topics=[]), 5)
        assert isinstance(cluster, MetadataResponse)
        ask(inside[cluster.controller_id], story.create_topic(), 2)
        await_in_sync(inside)
        yield kafka
    finally:
        kafka.down()


def metadata_by_doors(jars: Path) -> list[str]:
    lines = []
    with two_doors(jars) as kafka:
        inside = dict(enumerate(kafka.ports))
        for listener, broker in story.DOORS:
            port = (inside if listener == "INSIDE" else kafka.outside)[broker]
            for version in story.VERSIONS:
                response = ask(port, story.metadata(), version)
                assert isinstance(response, MetadataResponse)
                lines += [
                    f"{listener} of {broker}, version {version}",
                    *story.told(response, inside),
                ]
    return lines


def await_in_sync(inside: Mapping[int, int]) -> None:
    """Wait until every broker knows all leaders."""

    def leaders(port: int) -> list[int]:
        response = ask(port, story.metadata(), 6)
        assert isinstance(response, MetadataResponse)
        return [
            p.leader_id
            for p in sorted(response.topics[0].partitions, key=lambda p: p.partition_index)
        ]

    for port in inside.values():
        wait_for(lambda port=port: leaders(port) == [a[0] for a in story.ASSIGNMENT], "leaders")  # type: ignore[misc]  # mypy does not type a lambda's default


def configs(jars: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                "javac",
                "-nowarn",
                "-cp",
                f"{jars}/*",
                "-d",
                folder,
                str(HERE / "ListenerConfigs.java"),
            ],
            check=True,
        )
        command = ["java", "-cp", f"{folder}:{jars}/*", "ListenerConfigs"]
        return subprocess.run(
            command,
            input=(HERE / "cases.txt").read_text(),
            check=True,
            capture_output=True,
            text=True,
        ).stdout


def main() -> None:
    for version in RELEASES:
        jars = kafka_jars(version)
        (HERE / f"kafka-{version}-configs.txt").write_text(configs(jars))
        (HERE / f"kafka-{version}-metadata.txt").write_text(
            "\n".join(metadata_by_doors(jars)) + "\n"
        )


if __name__ == "__main__":
    main()
