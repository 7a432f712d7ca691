"""`trace`, `story`, `why` and `chain` on one real cluster: each command answers its question while
the cluster runs.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.cli.chain_command import chain
from kafka_edu.cli.client_trace import client_tracer
from kafka_edu.cli.story_command import story
from kafka_edu.cli.trace_command import trace
from kafka_edu.cli.why_command import why
from kafka_edu.clients.consumer import consumer as own_consumer
from kafka_edu.clients.producer import producer as own_producer
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.instruments.recording import read_recordings
from kafka_edu.instruments.trace_feed import now_us
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import Event, Source
from kafka_edu.trace.events.consumer import ConsumerCommitted
from kafka_edu.trace.events.replication import BecameLeader
from kafka_edu.trace.wire_format import TraceFormatError
from tests.cluster.processes import start_all
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.cluster
NAME = "instruments"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    home = tmp_path_factory.mktemp("home")
    before = os.environ.get("KAFKA_EDU_HOME")
    os.environ["KAFKA_EDU_HOME"] = str(home)
    try:
        props = {
            "group.initial.rebalance.delay.ms": "0",
            # While a follower is paused, a produce waits, and `why` has to be asked meanwhile.
            "zookeeper.session.timeout.ms": "18000",
            "replica.lag.time.max.ms": "30000",
        }
        with running_cluster(NAME, home=home, props=props) as cluster:
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
            admin.create_topics([NewTopic("web", 1, 3)])["web"].result(PATIENCE_S)
            yield cluster
    finally:
        os.environ.pop("KAFKA_EDU_HOME")
        if before is not None:
            os.environ["KAFKA_EDU_HOME"] = before


def ask(command: click.Command, *words: str) -> tuple[str, dict[str, Any]]:
    """Return what a command prints, in one line, and its JSON."""
    file = Path(os.environ["KAFKA_EDU_HOME"]) / "answer.json"
    result = CliRunner().invoke(
        command, [*words, "--cluster", NAME, "--json", str(file)], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split()), json.loads(file.read_text())


def producer(cluster: Cluster) -> Producer:
    return Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "client.id": "shop",
            "acks": "all",
            "log_level": 0,
        }
    )


def write(cluster: Cluster, value: bytes) -> int:
    """Write one record, and return its offset."""
    offsets: list[int | None] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        offsets.append(message.offset())

    sender = producer(cluster)
    sender.produce("web", value, key=b"k", on_delivery=delivered)
    assert sender.flush(PATIENCE_S) == 0
    assert offsets[0] is not None
    return offsets[0]


def read_and_commit(cluster: Cluster, group: str) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "client.id": "reader",
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.subscribe(["web"])
    message = consumer.poll(PATIENCE_S)
    assert message is not None
    assert message.error() is None
    consumer.commit(message, asynchronous=False)
    consumer.close()


def leader_of_web(cluster: Cluster) -> int:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    leader: int = admin.list_topics("web", PATIENCE_S).topics["web"].partitions[0].leader
    return leader


def wait_until_recorded(
    file: Path, cluster: Cluster, at_us: int, fact: type[Event] | None = None
) -> None:
    """Wait until a running recording holds what every broker has emitted up to `at_us`, and `fact`.

    A process sends its events in order, and samples among them ten times a second. So if the file
    has a later event of a broker, it has all earlier ones.
    """

    def is_recorded() -> bool:
        try:
            events = read_recordings([file], warn=lambda _: None)  # its end is missing so far
        except TraceFormatError:
            return False  # nothing is written yet
        later = {e.source for e in events if e.mono_us > at_us}
        found = fact is None or any(isinstance(e.event, fact) for e in events)
        return found and later >= set(map(Source.of_broker, cluster.broker_ids))

    wait_for(is_recorded, "the recording has not all facts up to the commit")


def test_a_record_written_while_somebody_records_has_its_whole_life(
    cluster: Cluster, tmp_path: Path
) -> None:
    file = tmp_path / "hops.jsonl.gz"
    command = [sys.executable, "-m", "kafka_edu", "trace", "record", str(file)]
    recording = subprocess.Popen(
        [*command, "--cluster", NAME, "--level", "hops"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert recording.stderr is not None
    assert "recording all processes" in recording.stderr.readline()
    offset = write(cluster, b"hello")
    read_and_commit(cluster, "buyers")
    wait_until_recorded(file, cluster, now_us())
    recording.send_signal(signal.SIGINT)
    said, _ = recording.communicate(timeout=PATIENCE_S)
    assert "facts in" in said
    text, told = ask(story, f"web-0@{offset}", "--replay", str(file))
    recorded = {step["stage"] for step in told["steps"] if step["recorded"]}
    assert recorded >= {"request", "queue", "log", "follower", "committed", "answer", "group"}
    assert "of shop arrives" in text
    assert "group buyers commits" in text
    leader = leader_of_web(cluster)
    logs = told["logs"]
    assert all(log["held"] for log in logs.values())
    assert len(logs) == 3
    stored = logs[str(leader)]
    batch = Path(stored["file"]).read_bytes()[stored["position"] :]
    assert int.from_bytes(batch[:8], "big") == stored["first_offset"] <= offset
    assert (stored["key"], stored["is_valid"]) == ("k", True)


def test_a_record_of_our_own_clients_has_its_life_from_send_to_the_commit(
    cluster: Cluster, tmp_path: Path
) -> None:
    file = tmp_path / "own.jsonl.gz"
    servers = {"bootstrap.servers": cluster.bootstrap_servers}
    producer = {"client.id": "own-shop", "acks": "all", "request.timeout.ms": 300_000}
    reader = {"client.id": "own-till", "group.id": "own", "enable.auto.commit": False}

    async def life() -> int:
        async with (
            client_tracer(ClusterFolder.of(NAME)) as trace,
            own_producer.Producer(servers | producer, trace=trace) as sender,
            own_consumer.Consumer(servers | reader, trace=trace) as consumer,
        ):
            # The recording begins now, so it has the clients' process from its first event on.
            command = [sys.executable, "-m", "kafka_edu", "trace", "record", str(file)]
            recording = await asyncio.create_subprocess_exec(
                *(*command, "--cluster", NAME, "--level", "hops"),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            assert recording.stderr is not None
            assert b"recording all processes" in await recording.stderr.readline()
            stored = await (await sender.send("web", b"own", key=b"k"))
            tp = TopicPartition("web", stored.partition)
            consumer.assign([tp])
            consumer.seek(tp, stored.offset)
            async with asyncio.timeout(PATIENCE_S):
                while not (records := await consumer.poll(1_000)):
                    pass
            assert [record.value for record in records] == [b"own"]
            await consumer.commit()
            # In a thread, because this loop sends the clients' facts to the recording.
            await asyncio.to_thread(wait_until_recorded, file, cluster, now_us(), ConsumerCommitted)
            recording.send_signal(signal.SIGINT)
            await recording.communicate()
            return stored.offset

    offset = asyncio.run(life())
    text, told = ask(story, f"web-0@{offset}", "--replay", str(file))
    recorded = {step["stage"] for step in told["steps"] if step["recorded"]}
    assert recorded >= {
        *("send", "drain", "sent", "request", "queue", "log", "follower", "committed"),
        *("answer", "response", "callback", "fetch", "consumer", "delivered", "commit", "group"),
    }
    assert "own-shop's send() puts it into batch 1, at place 0" in text
    assert f"calls the record's callback with offset {offset:,}" in text
    assert f"poll() of own-till returns 1 record: the position moves {offset:,} →" in text
    assert "the coordinator appends it to __consumer_offsets-" in text
    assert "own-till knows that its commit is stored" in text


def test_without_a_recording_the_story_names_what_was_not_recorded(cluster: Cluster) -> None:
    offset = write(cluster, b"quiet")
    text, told = ask(story, f"web-0@{offset}")
    assert "when the request arrived was not recorded" in text
    assert told["logs"][str(leader_of_web(cluster))]["held"]
    above = CliRunner().invoke(story, ["web-0@999999", "--cluster", NAME])
    assert above.exit_code == 1
    assert "web-0@999999 is above the log end" in above.output
    assert len(above.output.splitlines()) == 1


def test_why_names_the_paused_follower_and_afterwards_what_ended_the_wait(
    cluster: Cluster,
) -> None:
    sender = producer(cluster)
    sender.produce("web", b"before")  # it is connected to the leader before anything is paused
    assert sender.flush(PATIENCE_S) == 0
    leader = leader_of_web(cluster)
    follower = next(broker for broker in cluster.broker_ids if broker != leader)
    cluster.pause(follower)
    try:
        sender.produce("web", b"stuck")
        sender.poll(0)

        def waiting() -> dict[str, Any] | None:
            _, told = ask(why, "--topic", "web", "--broker", str(leader))
            found = [one for one in told["waiting"] if one["client"] == "shop"]
            return found[0] if found else None

        produce = wait_for(waiting, "no produce waits")
        assert produce is not None
        [need] = produce["needs"]
        assert [one["broker"] for one in need["missing"]] == [follower]
        assert any(f"broker {follower} fetches 1 record" in s for s in produce["would_finish"])
    finally:
        cluster.resume(follower)
    assert sender.flush(PATIENCE_S) == 0
    text, told = ask(why, "--client", "shop")
    assert "Nothing waits." in text
    assert told["ended"][0]["waited_ms"] > 100
    start_all(cluster)


def test_the_chain_of_a_new_leader_begins_at_the_kill_and_tail_shows_it(cluster: Cluster) -> None:
    write(cluster, b"before")
    victim = leader_of_web(cluster)
    cluster.kill(victim)
    wait_for(lambda: leader_of_web(cluster) not in (victim, -1), "no new leader")
    write(cluster, b"after")
    text, told = ask(chain, BecameLeader.__name__, "web-0")
    names = [line["name"] for line in told["causes"]]
    assert {"ProcessEnded", "SessionExpired", "ZkWatchFired", "LeaderElected"} <= set(names)
    assert names[-1] == "BecameLeader"
    assert f"broker {victim} killed by SIGKILL" in text
    shown = CliRunner().invoke(
        trace,
        ["tail", "--cluster", NAME, "--since", "5m", "--for", "1s", "--event", "ProcessEnded"],
        catch_exceptions=False,
    )
    assert f"broker {victim} killed by SIGKILL" in shown.output
    start_all(cluster)
