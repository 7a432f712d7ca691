"""`why`: a paused follower, a deadline, and what ended the others, in virtual time."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kafka_edu.cli.why_command import why
from kafka_edu.trace.event import Level
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
