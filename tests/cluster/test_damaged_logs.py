"""A real broker whose files were damaged while it was down: it reports the damage, repairs its
logs, and joins the ISR again.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.cli.cluster_command import cluster as cluster_command
from kafka_edu.cli.why_command import why
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.cluster
NAME = "damaged"
TOPICS = ("tail", "index", "snapshot", "epochs")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    home = tmp_path_factory.mktemp("home")
    before = os.environ.get("KAFKA_EDU_HOME")
    os.environ["KAFKA_EDU_HOME"] = str(home)
    try:
        with running_cluster(NAME, brokers=2, home=home) as cluster:
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
            topics = [
                NewTopic(t, 1, 2, config={"segment.bytes": "4000", "index.interval.bytes": "200"})
                for t in TOPICS
            ]
            for created in admin.create_topics(topics).values():
                created.result(PATIENCE_S)
            yield cluster
    finally:
        os.environ.pop("KAFKA_EDU_HOME")
        if before is not None:
            os.environ["KAFKA_EDU_HOME"] = before


def write(cluster: Cluster) -> None:
    sender = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "enable.idempotence": True,
            "log_level": 0,
        }
    )
    for _ in range(60):
        for topic in TOPICS:
            sender.produce(topic, b"v" * 100)
        assert sender.flush(PATIENCE_S) == 0


def in_sync(cluster: Cluster) -> dict[str, list[int]]:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    topics = admin.list_topics(timeout=PATIENCE_S).topics
    return {topic: sorted(topics[topic].partitions[0].isrs) for topic in TOPICS}


def files(folder: Path, suffix: str) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.endswith(suffix))


def test_every_damage_is_in_the_log_in_the_answer_of_start_and_in_why(cluster: Cluster) -> None:
    write(cluster)
    wait_for(
        lambda: all(isr == [0, 1] for isr in in_sync(cluster).values()), "broker 1 in each ISR"
    )
    cluster.stop(1)
    tail = files(cluster.replica(1, "tail", 0), ".log")[-1]
    os.truncate(tail, tail.stat().st_size - 7)
    index = files(cluster.replica(1, "index", 0), ".index")[0]
    index.write_bytes(os.urandom(index.stat().st_size))
    snapshot = files(cluster.replica(1, "snapshot", 0), ".snapshot")[-1]
    snapshot.write_bytes(bytes(snapshot.stat().st_size))
    epochs = cluster.replica(1, "epochs", 0) / "leader-epoch-checkpoint"
    epochs.write_text("0\n1\n9 0\n")
    started = CliRunner().invoke(
        cluster_command, ["start", "1", "--cluster", NAME], catch_exceptions=False
    )
    assert started.exit_code == 0, started.output
    assert "⚠ broker 1: it repaired 4 damaged files of 4 logs and lost " in started.output
    warned = [line for line in cluster.log_text(1).splitlines() if "WARNING" in line]
    for topic, file, what in (
        ("tail", tail, "bytes are cut off, and the log ends at offset"),
        ("index", index, "the index is built again"),
        ("snapshot", snapshot, "it is removed"),
        ("epochs", epochs, "it is made again from the batches"),
    ):
        (line,) = [line for line in warned if f"{topic}-0 in " in line]
        assert file.name in line
        assert what in line
    answer = CliRunner().invoke(why, ["--cluster", NAME], catch_exceptions=False)
    words = " ".join(answer.output.split())
    assert "Damage that broker 1 has found since its start" in words
    assert tail.name in words
    wait_for(
        lambda: all(isr == [0, 1] for isr in in_sync(cluster).values()), "broker 1 in each ISR"
    )


def ke(command: object, *words: str) -> str:
    """Run a command on the cluster and return its output in one line."""
    answer = CliRunner().invoke(command, [*words, "--cluster", NAME], catch_exceptions=False)
    return " ".join(answer.output.split())


def test_a_start_and_why_say_which_parts_failed_and_which_process_is_gone(
    cluster: Cluster,
) -> None:
    """First the broker cannot read its file of high watermarks. Then it cannot write its recording
    of events.
    """
    cluster.stop(1)
    marks = cluster.log_dirs(1)[0] / "replication-offset-checkpoint"
    marks.write_text("nonsense\n")
    refused = ke(cluster_command, "start", "1")
    assert "Error: broker-1 ended with code 1: Shutdown broker because none of the " in refused
    assert f"{marks} has a line that cannot be read" in refused
    gone = ke(why)
    assert "Ended unexpectedly ✕ broker-1 ended with code 1: Shutdown broker because" in gone
    assert f"cluster start 1 --cluster {NAME}" in gone
    marks.unlink()
    settings = cluster.folder.broker_properties(1)
    recording = cluster.folder.path / "gone" / "events"
    settings.write_text(settings.read_text() + f"edu.record.file={recording}\n")
    started = ke(cluster_command, "start", "1")
    failed = f"the recording {recording} failed: No such file or directory"
    assert f"⚠ broker 1: {failed}" in started
    told = ke(why)
    assert f"Failed on broker 1 since its start ✕ {failed}" in told
    assert "Ended unexpectedly" not in told
