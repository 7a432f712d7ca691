"""`chain` and `trace` on a recording of a real cluster, and their errors in one line."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kafka_edu.cli.chain_command import chain
from kafka_edu.cli.trace_command import trace
from kafka_edu.instruments.recording import read_recordings
from kafka_edu.instruments.trace_feed import now_us
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import Envelope, Level

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
    assert "leader of web-2 broker 1 → 2, because broker 1 is gone" in " ".join(
        result.output.split()
    )
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
    assert "▶ controller handles BrokerChange" in result.output
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
        (["x1#1"], "'x1' is not a process"),
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
    assert all("leader of web-" in line for line in lines[1:] if line[0] != " "), "or wrapped"
    everything = run_trace("show", str(KILLED)).output.splitlines()
    assert everything[0].split() == ["time", "fact", "sup", "zk", "b0", "b1", "b2"]
    assert max(map(len, everything)) <= WIDTH
    last = run_trace("show", str(KILLED), "--since", "10s").output.splitlines()
    assert 1 < len(last) < len(everything) / 2


def test_a_topic_is_found_by_its_partitions_and_paths_not_by_its_beginning(tmp_path: Path) -> None:
    result = run_trace("show", str(KILLED), "--topic", "we")
    assert result.exit_code == 1
    assert "matches your options" in result.output
    of_web = run_trace("show", str(KILLED), "--topic", "web", "--event", "ZnodeCreated").output
    assert "/brokers/topics/web/partitions/0/state" in of_web


def test_what_cannot_be_read_is_one_clear_line(tmp_path: Path) -> None:
    header = gzip.decompress(KILLED.read_bytes()).split(b"\n", 1)[0] + b"\n"
    empty, broken = tmp_path / "empty.jsonl", tmp_path / "broken.jsonl"
    empty.write_bytes(header)
    broken.write_bytes(b"hello\n")
    for file, message in ((empty, "nothing is recorded in"), (broken, "not a stream of kafka-edu")):
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
    assert "is not a length of time such as" in result.output or "docs/events.md" in result.output


def test_show_writes_one_json_object_a_line(tmp_path: Path) -> None:
    told = run_trace("show", str(KILLED), "--event", "LeaderElected", "--json", "-").output
    events = [json.loads(line) for line in told.splitlines()]
    assert len(events) > 6
    assert {event["name"] for event in events} == {"LeaderElected"}
    first = events[0]
    assert first["source"] == ["broker", 2]
    assert first["event"].startswith("b2#")
    assert first["fields"]["topic"] == "web"
    assert first["text"].startswith("leader of web-")
    assert isinstance(first["cause"], int)
    file = tmp_path / "events.jsonl"
    both = run_trace("show", str(KILLED), "--event", "LeaderElected", "--json", str(file)).output
    assert file.read_text() == told
    assert both.splitlines()[0].split() == ["time", "fact", "b2"]
    everything = run_trace("show", str(KILLED), "--json", "-").output.splitlines()
    assert all(json.loads(line)["text"] for line in everything)


def test_show_says_what_it_could_not_read(tmp_path: Path) -> None:
    lines = gzip.decompress(KILLED.read_bytes()).splitlines(keepends=True)
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"".join([*lines[:50], b"noise\n", *lines[50:-1], lines[-1][:-5]]))
    result = run_trace("show", str(path))
    assert result.exit_code == 0
    told = " ".join(result.output.split())
    assert "1 line cannot be read and is left out: line 51: not an event" in told
    assert "its end is missing" in told
    whole = run_trace("show", str(path), "--json", "-")
    assert all(json.loads(line) for line in whole.stdout.splitlines())
    assert "line 51" in whole.stderr


def test_hops_that_a_broker_left_out_are_said_by_show_and_by_the_instruments(
    tmp_path: Path,
) -> None:
    head, *lines = gzip.decompress(KILLED.read_bytes()).splitlines(keepends=True)
    fields = json.loads(head)
    fields["fields"]["HopsLeftOut"] = ["for_us"]
    at = next(i for i, line in enumerate(lines) if line.startswith(b'[["broker",2]')) + 1
    source, seq, _, wall_ms, mono_us, *_ = json.loads(lines[at - 1])
    more = [
        json.dumps([source, seq, 0, wall_ms, mono_us, "HopsLeftOut", [us]]).encode() + b"\n"
        for us in (30_000, 26_000)
    ]
    path = tmp_path / "r.jsonl"
    header = json.dumps(fields).encode() + b"\n"
    path.write_bytes(b"".join([header, *lines[:at], *more, *lines[at:]]))
    shown = run_trace("show", str(path)).output
    words = "broker 2 left out its hops 2 times, for 56 ms together"
    assert "left out its hops for 30 ms" in shown
    assert words in " ".join(shown.split())
    assert "left out its hops for" not in run_trace("show", str(path), "--level", "state").output
    told = CliRunner().invoke(chain, ["BecameLeader", "web-2", "--replay", str(path)]).output
    assert words in " ".join(told.split())


def test_tail_writes_one_json_object_a_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    recorded = [
        envelope._replace(mono_us=now_us() + number)
        for number, envelope in enumerate(read_recordings([KILLED]))
    ]

    async def follow(
        folder: ClusterFolder,
        level: Level,
        since_us: int | None,
        for_s: float | None,
        take: Callable[[list[Envelope]], None],
    ) -> None:
        take(recorded)
        if file.exists():
            written.append(file.read_text())

    file = tmp_path / "events.jsonl"
    written: list[str] = []
    monkeypatch.setattr("kafka_edu.cli.trace_command._follow", follow)
    monkeypatch.setattr("kafka_edu.cli.trace_command._running", lambda _: ClusterFolder(tmp_path))
    text = run_trace("tail", "--event", "ZnodeChanged", "--json", str(file))
    assert text.exit_code == 0, text.output
    told = run_trace("tail", "--event", "ZnodeChanged", "--json", "-").stdout
    assert file.read_text() == told
    assert written[0] == told  # a reader had them while the command ran
    assert {json.loads(line)["name"] for line in told.splitlines()} == {"ZnodeChanged"}
    assert text.output.splitlines()[0].split()[:2] == ["time", "fact"]
