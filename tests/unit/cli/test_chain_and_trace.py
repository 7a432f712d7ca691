"""`chain` and `trace` on a recording of a real cluster, and their errors in one line."""

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kafka_edu.cli.chain_command import chain
from kafka_edu.cli.trace_command import trace

KILLED = Path(__file__).parents[2] / "tui" / "recordings" / "leader-killed.jsonl.gz"
WIDTH = 80


def run_chain(*words: str) -> Result:
    return CliRunner().invoke(chain, [*words, "--replay", str(KILLED)])


def run_trace(*words: str) -> Result:
    return CliRunner().invoke(trace, list(words))


def test_the_chain_of_a_new_leader_goes_back_to_the_watch(tmp_path: Path) -> None:
    answer = tmp_path / "answer.json"
    result = run_chain("BecameLeader", "web-2", "--json", str(answer))
    assert result.exit_code == 0, result.output
    assert "leader of web-2 1 → 2, because broker 1 is gone" in result.output
    assert "▶ leads web-2 from offset 1,255 on, epoch 1" in result.output
    assert max(map(len, result.output.splitlines())) <= WIDTH
    told = json.loads(answer.read_text())
    names = [line["name"] for line in told["causes"]]
    assert names == [
        "ZkWatchFired",
        "ControllerEventQueued",
        "ControllerEventStarted",
        "ZnodeChanged",
        "LeaderElected",
        "BecameLeader",
    ]
    assert told["event"]["event"] == "b2#267"


def test_an_event_is_named_by_process_and_number() -> None:
    result = run_chain("b2#251")
    assert "▶ controller deals with BrokerChange" in result.output
    assert "What followed" in result.output
    assert "leads web-2 from offset 1,255 on" in result.output


def test_many_effects_of_one_kind_are_one_line_and_the_rest_is_counted() -> None:
    result = run_chain("b2#251", "--followed", "3")
    assert "more like it" in result.output
    assert "more (--followed N shows more)" in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["LeaderElectd"], "there is no event 'LeaderElectd': did you mean LeaderElected?"),
        (["b1#9999"], "b1#9999 is not here: there are facts"),
        (["b7#1"], "no fact of b7 is here, only of: b0, b1, b2, sup, zk"),
        (["x1#1"], "'x1' is no process"),
        (["LeaderElected", "nosuch"], "holds nosuch"),
        (["UncleanTruncation"], "no UncleanTruncation was recorded"),
    ],
)
def test_an_unknown_event_is_one_clear_line(words: list[str], message: str) -> None:
    result = run_chain(*words)
    assert result.exit_code == 1
    assert message in result.output
    assert len(result.output.splitlines()) == 1


def test_show_has_a_column_for_each_process_and_filters() -> None:
    result = run_trace("show", str(KILLED), "--event", "leaderelected", "--topic", "web")
    lines = result.output.splitlines()
    assert lines[0].split() == ["time", "fact", "b2"]
    assert len(lines) > 6
    assert all("leader of web-" in line for line in lines[1:])
    everything = run_trace("show", str(KILLED)).output.splitlines()
    assert everything[0].split() == ["time", "fact", "sup", "zk", "b0", "b1", "b2"]
    assert max(map(len, everything)) <= WIDTH
    last = run_trace("show", str(KILLED), "--since", "10s").output.splitlines()
    assert 1 < len(last) < len(everything) / 2


def test_a_topic_is_found_by_its_partitions_and_paths_not_by_its_beginning(tmp_path: Path) -> None:
    result = run_trace("show", str(KILLED), "--topic", "we")
    assert result.exit_code == 1
    assert "is what you asked for" in result.output
    of_web = run_trace("show", str(KILLED), "--topic", "web", "--event", "ZnodeCreated").output
    assert "/brokers/topics/web/partitions/0/state" in of_web


def test_what_cannot_be_read_is_one_clear_line(tmp_path: Path) -> None:
    header = gzip.decompress(KILLED.read_bytes()).split(b"\n", 1)[0] + b"\n"
    empty, broken = tmp_path / "empty.jsonl", tmp_path / "broken.jsonl"
    empty.write_bytes(header)
    broken.write_bytes(b"hello\n")
    for file, message in ((empty, "nothing is recorded in"), (broken, "no stream of kafka-edu")):
        for result in (
            run_trace("show", str(file)),
            CliRunner().invoke(chain, ["b1#1", "--replay", str(file)]),
        ):
            assert result.exit_code == 1
            assert message in result.output
            assert len(result.output.splitlines()) == 1


def test_a_live_cluster_that_is_not_there_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path))
    for command, words in (
        (chain, ["b1#1"]),
        (trace, ["tail"]),
        (trace, ["record", str(tmp_path / "x")]),
    ):
        result = CliRunner().invoke(command, [*words, "--cluster", "nobody"])
        assert result.exit_code == 1
        assert "there is no cluster 'nobody'; start one with" in result.output
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "words", [["show", str(KILLED), "--since", "soon"], ["tail", "--event", "Nothing"]]
)
def test_a_wrong_option_says_what_is_right(words: list[str]) -> None:
    result = run_trace(*words)
    assert result.exit_code == 2
    assert "is no length of time such as" in result.output or "docs/events.md" in result.output
