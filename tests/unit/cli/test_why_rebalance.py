"""`why-rebalance` on the events of a real coordinator in virtual time."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kafka_edu.cli.why_rebalance_command import why_rebalance
from kafka_edu.trace.file_sink import FileSink, snapshot_lines
from tests.unit.coordinator.group.group_world import World
from tests.unit.instruments.test_rebalances import Watched, assignment


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record a group of two members. A third member joins, and later one member falls silent."""
    path = tmp_path_factory.mktemp("recordings") / "shop.jsonl"
    with path.open("wb") as file:
        world = World()
        FileSink(world.trace, file, cluster="demo").attach("the recording")
        Watched(world).two()
        world.advance(5_000)
        world.join("c")
        world.advance(600)
        world.join("a")
        world.advance(2_400)
        world.join("b")
        world.advance(40)
        world.sync("a", {"a": assignment(0), "b": assignment(2, 3), "c": assignment(1)})
        world.sync("b")
        world.sync("c")
        for _ in range(4):
            world.advance(3_000)
            world.heartbeat("a")
            world.heartbeat("c")
        file.writelines(snapshot_lines(world.trace))
    return path


def run(recording: Path, *words: str) -> Result:
    return CliRunner().invoke(why_rebalance, [*words, "--replay", str(recording)])


def test_it_names_who_caused_each_rebalance_and_for_whom_the_group_waited(recording: Path) -> None:
    result = run(recording, "g")
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "PreparingRebalance for 2.0 s · generation 3 · coordinator broker 1" in text
    assert "fell silent: no heartbeat within its session time-out of 10 s (2.0 s so far)" in text
    assert "waited 3.0 s for client-" in text
    assert "then 40 ms for the assignment of the leader client-" in text
    assert "1 partition moved web-1: client-" in text
    assert "Stable 5.0 s → Preparing 3.0 s → Completing 40 ms" in text
    assert max(map(len, result.output.splitlines())) <= 80


def test_the_same_as_json(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "why.json"
    assert run(recording, "g", "--last", "2", "--json", str(out)).exit_code == 0
    told = json.loads(out.read_text(encoding="utf-8"))
    silent, joined = told["rebalances"]
    assert (silent["trigger"], silent["is_over"]) == ("fell silent", False)
    assert (joined["trigger"], joined["took_ms"], joined["assigning_ms"]) == ("joined", 3040, 40)
    assert [(m["topic"], m["partition"]) for m in joined["moves"]] == [("web", 1)]
    assert len(told["waits_for"]) == 2
    assert told["offsets_partition"] == 0


def test_an_unknown_group_is_answered_with_the_known_ones(recording: Path) -> None:
    result = run(recording, "x")
    assert result.exit_code == 1
    assert "nothing is known of group 'x'. Groups that are known: g" in result.output
