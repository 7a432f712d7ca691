"""The command `why`, in virtual time: it names a paused follower and a deadline for which an
operation waits, and what ended earlier operations.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kafka_edu.cli.why_command import why
from kafka_edu.server.health.troubles import Troubles
from kafka_edu.trace.event import ZOOKEEPER, Level, Source
from kafka_edu.trace.events.server import SessionLost
from kafka_edu.trace.events.supervisor import ProcessEnded, ProcessStarted
from kafka_edu.trace.events.trace import SinkFailed
from tests.unit.instruments.simulated import WEB, Simulated


@pytest.fixture
def simulated() -> Iterator[Simulated]:
    world = Simulated(Level.STATE)
    yield world
    world.cluster.close()


def run(world: Simulated, tmp_path: Path, *words: str) -> Result:
    file = world.record(tmp_path / "sim.jsonl.gz")
    return CliRunner().invoke(why, [*words, "--replay", str(file)])


def test_a_produce_that_waits_for_a_paused_follower_names_it(
    simulated: Simulated, tmp_path: Path
) -> None:
    simulated.client.produce(WEB, "before", -1)
    simulated.cluster.advance(1500)
    simulated.cluster.pause(simulated.follower)
    waiting = simulated.client.produce(WEB, "stuck", -1)
    simulated.cluster.advance(2500)
    simulated.sample()
    answer = tmp_path / "answer.json"
    result = run(simulated, tmp_path, "--json", str(answer), "--topic", "web")
    assert result.exit_code == 0, result.output
    assert waiting.acked is None
    lines = result.output.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "1 operation waiting"
    assert "▶ produce web-0 from client" in result.output
    assert "needs web-0: HW ≥ 2, is 1" in result.output
    behind = f"broker {simulated.follower}"
    assert any(behind in line and "✗ 1 behind, last fetch" in line for line in lines)
    assert f"{behind} fetches 1 record of web-0, or leaves the ISR" in " ".join(
        " ".join(lines).split()
    )
    [produce] = [o for o in json.loads(answer.read_text())["waiting"] if not o["routine"]]
    assert produce["broker"] == simulated.leader
    assert 2000 <= produce["waited_ms"] <= 2600
    [need] = produce["needs"]
    assert [one["broker"] for one in need["missing"]] == [simulated.follower]
    assert produce["left_ms"] == 30_000 - produce["waited_ms"]


def test_afterwards_it_says_what_ended_it(simulated: Simulated, tmp_path: Path) -> None:
    simulated.cluster.pause(simulated.follower)
    done = simulated.client.produce(WEB, "stuck", -1)
    simulated.cluster.advance(2500)
    simulated.cluster.resume(simulated.follower)
    simulated.cluster.advance(3000)
    simulated.sample()
    result = run(simulated, tmp_path)
    assert done.acked is not None
    assert "Nothing waits." in result.output
    words = " ".join(result.output.split())
    assert "produce web-0 from client" in words
    assert f"HW moved: broker {simulated.follower} fetched" in words


def test_filters_and_idle_operations(simulated: Simulated, tmp_path: Path) -> None:
    simulated.cluster.advance(3000)
    simulated.sample()
    plain, everything = run(simulated, tmp_path), run(simulated, tmp_path, "--all")
    assert "Nothing waits." in plain.output
    assert "more wait for lack of work" in plain.output
    assert "for follower" in everything.output
    other = run(simulated, tmp_path, "--all", "--broker", str(simulated.follower))
    assert "for follower" not in other.output
    nobody = run(simulated, tmp_path, "--all", "--client", "nobody")
    assert "Nothing waits." in nobody.output


def test_what_failed_and_what_ended_unexpectedly(simulated: Simulated, tmp_path: Path) -> None:
    supervisor = simulated.cluster.supervisor
    tracer = simulated.cluster.brokers[1].tracer
    assert tracer is not None
    troubles = Troubles(simulated.cluster.time)
    tracer.add_sink(troubles)
    tracer.on_snapshot(troubles.snapshot)
    tracer(SinkFailed(sink="the recording /r/events", reason="No space left on device", after=3))
    tracer(SessionLost(broker_id=1, session_id=7))
    full = "its data in /d cannot be written: No space left on device\nmore"
    ends = [
        (ZOOKEEPER, "zookeeper", 1, "", False, full),
        (Source.of_broker(2), "broker-2", 0, "SIGKILL", False, ""),
        (Source.of_broker(3), "broker-3", 0, "SIGKILL", False, ""),
        (Source.of_broker(1), "broker-1", 0, "", True, ""),
    ]
    for child, process, code, signal, asked, reason in ends:
        supervisor(
            ProcessEnded(
                process=process,
                child=child,
                pid=9,
                code=code,
                signal=signal,
                asked=asked,
                reason=reason,
            )
        )
    supervisor(ProcessStarted(process="broker-3", child=Source.of_broker(3), pid=10))
    simulated.cluster.advance(10)
    simulated.sample()
    result = run(simulated, tmp_path, "--json", str(answer := tmp_path / "answer.json"))
    lines = result.output.splitlines()
    gone = ["broker-2 killed by SIGKILL", f"zookeeper ended with code 1: {full.splitlines()[0]}"]
    assert lines[0] == "Ended unexpectedly"
    assert [lines[1], f"{lines[2]} {lines[3].strip()}"] == [f"  ✕ {one}" for one in gone]
    at = lines.index("Failed on broker 1 since its start")
    assert f"{lines[at + 1]}" == "  ✕ the recording /r/events failed: No space left on device"
    assert lines[at + 2] == "", "a lost session passes"
    told = json.loads(answer.read_text())
    assert told["failed"] == {"1": ["the recording /r/events failed: No space left on device"]}
    assert [f"{one['process']} {one['how']}" for one in told["ended_unexpectedly"]] == gone


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--topic", "nosuch"], "there is no topic 'nosuch'; known: "),
        (["--broker", "9"], "broker 9 sent no events; known: 1, 2, 3"),
    ],
)
def test_an_unknown_name_is_one_clear_line(
    simulated: Simulated, tmp_path: Path, words: list[str], message: str
) -> None:
    result = run(simulated, tmp_path, *words)
    assert result.exit_code == 1
    assert message in result.output
    assert len(result.output.splitlines()) == 1
