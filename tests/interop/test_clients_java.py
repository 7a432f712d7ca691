"""The Java 3.9 producer, consumer and admin client, unmodified, against three brokers (no groups yet: the consumer assigns itself its partitions)."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.apache_kafka import PeerMissing, maven_jars
from kafka_edu.cli.supervisor import Cluster, running_cluster

HERE = Path(__file__).parent / "java"


@pytest.fixture(scope="module")
def java_clients() -> Path:
    """The folder of the client's jars; fetched by Maven into a cache unless KAFKA_EDU_JAVA_CLIENTS names one."""
    given = os.environ.get("KAFKA_EDU_JAVA_CLIENTS")
    if given:
        return Path(given)
    try:
        return maven_jars("java-clients-3.9.1", ["org.apache.kafka:kafka-clients:3.9.1", "org.slf4j:slf4j-nop:1.7.36"])
    except PeerMissing as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster("java") as cluster:
        yield cluster


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("codec", "idempotent"), [("none", "true"), ("lz4", "true"), ("zstd", "false")])
def test_a_round_trip_keeps_every_record_with_its_offset_time_and_headers(java_clients: Path, cluster: Cluster, codec: str, idempotent: str) -> None:
    topic = f"java-{codec}-{idempotent}"
    command = ["java", "-cp", f"{java_clients}/*", str(HERE / "RoundTrip.java"), cluster.bootstrap_servers, topic, "5000", codec, idempotent]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == ["nodes 3", "acked 5000 read 5000 wrong 0 first-by-time 0"]
