"""`kafka-edu draw`: each kind of picture, from recordings, and what is refused."""

import re
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from chapters.chapter import FOLDER
from kafka_edu.instruments.drawings.clusters import (
    Broker,
    ClusterAt,
    Fault,
    Replicas,
    cluster_figure,
)
from kafka_edu.instruments.drawings.partition_logs import LogsAt, ReplicaLog, logs_figure
from kafka_edu.instruments.drawings.znodes import Znode, changes, znodes_figure
from kafka_edu.instruments.event_source import EventSource, read_files
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.events.controller import StateMachineSnapshot
from tui.draw.command import draw
from tui.draw.moments import UnknownMomentError, moment_of
from tui.draw.subjects import SUBJECTS, file_name

ELECTIONS: Final = FOLDER / "ch05_zookeeper_election" / "recording.jsonl.gz"
SPARK: Final = FOLDER / "ch16_spark" / "recording.jsonl.gz"


@cache
def source_of(replay: Path) -> EventSource:
    return read_files([replay])


@pytest.fixture(autouse=True)
def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a recording takes half a second, and each test draws from one. So each is read
    once.
    """
    monkeypatch.setattr(
        "tui.draw.command.read_events",
        lambda _, files, *, gauges: source_of(*files),
    )


def drawn(tmp_path: Path, *words: str, replay: Path = ELECTIONS) -> str:
    """Draw as SVG, and return it."""
    file = tmp_path / "x.svg"
    result = CliRunner().invoke(draw, [*words, "--replay", str(replay), "--out", str(file)])
    assert result.exit_code == 0, result.output
    assert f"wrote {file}" in result.output
    return file.read_text(encoding="utf-8")


def refused(*words: str, replay: Path = ELECTIONS) -> str:
    result = CliRunner().invoke(draw, [*words, "--replay", str(replay)])
    assert result.exit_code in (1, 2)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.output


def texts(svg: str) -> list[str]:
    found = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    return [text.replace("&#45;", "-").replace("&#160;", " ").strip() for text in found]


def transactional_id() -> str:
    for envelope in source_of(SPARK).envelopes:
        if envelope.name == "TransactionStateChanged":
            return str(envelope.event[0])
    raise AssertionError("chapter 16 writes in transactions")


EACH: Final[dict[str, Callable[[], tuple[Sequence[str], Path]]]] = {
    "cluster": lambda: ((), ELECTIONS),
    "log": lambda: (("ch05-0",), ELECTIONS),
    "partition": lambda: (("ch05-0",), ELECTIONS),
    "replica": lambda: (("ch05-0", "1"), ELECTIONS),
    "group": lambda: (("load",), ELECTIONS),
    "transaction": lambda: ((transactional_id(),), SPARK),
    "znodes": lambda: (("/brokers",), ELECTIONS),
    "chain": lambda: (("ControllerElected",), ELECTIONS),
    "time-space": lambda: (("ControllerElected",), ELECTIONS),
}


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.rotated
def test_each_kind_is_drawn_with_a_legend_and_can_be_read_on_a_phone(
    name: str, tmp_path: Path
) -> None:
    words, replay = EACH[name]()
    svg = drawn(tmp_path, name, *words, replay=replay)
    width = re.search(r'<svg width="([\d.]+)pt"', svg)
    assert width is not None
    smallest = min(float(size) for size in re.findall(r'font-size="([\d.]+)"', svg))
    assert smallest * 358 / float(width[1]) >= 8.5, "the screen of a phone has 358 pixels for it"
    assert svg.count("<polygon") > 2, "a legend"
    assert drawn(tmp_path, name, *words, replay=replay) == svg, "the same bytes each time"


def test_a_cluster_before_and_after_a_kill(tmp_path: Path) -> None:
    """In chapter 05 the broker that is the controller is killed at second 3.8. At second 5 its
    session has not expired yet, so it is still shown as controller and as leader.
    """
    svg = drawn(tmp_path, "cluster", "--from", "1", "--at", "5")
    found = texts(svg)
    assert found.count("controller") == 3, "the legend, and one at each moment"
    assert found.count("ZooKeeper") == 2
    killed = found.index("killed (SIGKILL)")
    assert found.index("ZooKeeper") < killed
    assert "second 1.0" in " ".join(found[:killed])
    assert found.count("leads") == 1 + 2 * 6, "the legend, and each of six partitions twice"


def test_a_log_has_its_marks(tmp_path: Path) -> None:
    found = texts(drawn(tmp_path, "log", "ch05-0"))
    marks = [text for text in found if text.startswith("HW ")]
    assert len(marks) == 3
    assert all(re.fullmatch(r"HW \d+, LEO \d+", mark) for mark in marks)
    assert sum("leads" in text for text in found) == 1


def test_the_way_through_the_machine_is_numbered(tmp_path: Path) -> None:
    found = texts(drawn(tmp_path, "replica", "ch05-0", "1"))
    assert {"Online", "Offline", "DeletionIneligible", "NonExistent", "New"} <= set(found)
    numbers = {int(n) for text in found for n in re.findall(r"\d+", text) if text[0].isdigit()}
    assert {1, 2, 3} <= numbers


def test_between_two_moments_only_what_lies_between_is_on_the_way(tmp_path: Path) -> None:
    """Within a single moment nothing happens, so only the present state is drawn."""
    whole = texts(drawn(tmp_path, "group", "load"))
    assert "1" in whole
    quiet = texts(drawn(tmp_path, "replica", "ch05-0", "1", "--from", "-0", "--at", "-0"))
    assert "1" not in quiet
    assert "Online" in quiet


def test_znodes_say_whose_session_they_need(tmp_path: Path) -> None:
    found = texts(drawn(tmp_path, "znodes", "/brokers/ids", "--from", "1", "--at", "-0"))
    assert "goes with its session" in found
    assert any(text.startswith("session of broker") for text in found)


def test_each_znode_is_marked_with_what_happened_to_it() -> None:
    before = {"/a": Znode("/a", "1"), "/b": Znode("/b"), "/d": Znode("/d")}
    after = {
        "/a": Znode("/a", "2"),
        "/c": Znode("/c", owner="session of broker 1"),
        "/d": Znode("/d"),
    }
    marked = {znode.path: znode.change for znode in changes(before, after)}
    assert marked == {"/a": "changed", "/b": "gone", "/c": "new", "/d": ""}
    lines = znodes_figure("x", changes(before, after)).source.splitlines()
    drawn_as = {path: next(line for line in lines if f'"{path}" [' in line) for path in marked}
    assert [path for path, line in drawn_as.items() if "dashed" in line] == ["/b"]
    assert [path for path, line in drawn_as.items() if "penwidth=3" in line] == ["/a", "/c", "/b"]


def test_of_many_znodes_the_changed_ones_are_drawn() -> None:
    before = {f"/{n:03}": Znode(f"/{n:03}") for n in range(100)}
    after = before | {"/077": Znode("/077", "new data")}
    source = znodes_figure("x", changes(before, after)).source
    assert "new data" in source
    assert "… 94 more" in source


def test_messages_in_time_stand_in_the_order_of_cause_and_effect(tmp_path: Path) -> None:
    found = texts(drawn(tmp_path, "time-space", "ControllerElected"))
    told = " ".join(found)
    assert told.index("znode /controller deleted") < told.index("fires the data watch")
    assert told.index("is notified by its watch") < told.index("is the controller now")
    assert "★" not in told, "the font of a PNG lacks it"


def test_a_picture_as_png_and_as_dot(tmp_path: Path) -> None:
    run = CliRunner()
    for kind, begin in (("png", b"\x89PNG"), ("dot", b"digraph cluster {")):
        file = tmp_path / f"x.{kind}"
        words = ["cluster", "--replay", str(ELECTIONS), "--out", str(file)]
        assert run.invoke(draw, words).exit_code == 0
        assert file.read_bytes().startswith(begin)


def test_a_cut_link_and_a_dead_zookeeper_are_seen(tmp_path: Path) -> None:
    """The recordings have none of these."""
    at = ClusterAt(
        "",
        [Broker(0, controller=True), Broker(1), Broker(2)],
        [Replicas("web-0", -1, (), (0, 1)), Replicas("web-1", 0, (0,), (0, 1))],
        [Fault(0, "1", "cut"), Fault(2, "zookeeper", "cut"), Fault(1, "clients", "slow by 40 ms")],
        zookeeper="ended",
        left_out=3,
        unknown="reading the state of broker 2",
    )
    source = cluster_figure("x", [at]).source
    assert source.count("label=cut") == 2
    assert 'label="slow by 40 ms"' in source
    for words in ("no leader", "… 3 more", "reading the state of broker 2", "ended"):
        assert words in source
    assert source.count(">?<") == 2, "an ISR that nobody has told is not one that lacks brokers"


def test_an_open_transaction_holds_the_last_stable_offset() -> None:
    logs = [ReplicaLog("leader", 1_000, 1_200, 10, 900), ReplicaLog("follower", 950, 1_100, 10)]
    source = logs_figure("t-0", [LogsAt("", logs)]).source
    assert "above the LSO" in source
    assert "LSO 900, HW 1,000, LEO 1,200" in source
    assert "HW 950, LEO 1,100" in source
    unknown = logs_figure("t-0", [LogsAt("", [ReplicaLog("broker 1", -1, -1)])]).source
    assert "not known" in unknown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cat"], "there is no picture 'cat'; there are: cluster, log"),
        (["log"], "draw log TOPIC-N"),
        (
            ["log", "nope"],
            "is not a partition, because it has no '-': write one as web-0; known: ch05-0",
        ),
        (["log", "nope-1"], "there is no partition nope-1; known: ch05-0"),
        (["replica", "ch05-0", "x"], "'x' names no broker"),
        (["group", "nobody"], "no state of group nobody is known in this time; known: load"),
        (["transaction", "t"], "no state of transaction t is known"),
        (["znodes", "brokers"], "a path begins with /"),
        (["znodes", "/nope"], "no znode /nope is known"),
        (["chain", "Foo"], "there is no event 'Foo'"),
        (["cluster", "--at", "1000"], "nothing is known of 1000: the events go from"),
        (["cluster", "--at", "25:00:00"], "is not a time of day"),
        (["cluster", "--at", "soon"], "A moment is seconds since the beginning (12.5)"),
        (["cluster", "--from", "5", "--at", "3"], "--from 5 lies after --at 3"),
        (["cluster", "--out", "x.gif"], "write one of x.svg, x.png, x.dot"),
        (["cluster", "--out", "/proc/none/x.svg"], "Name a file in a folder"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_a_sentence(words: list[str], said: str) -> None:
    assert said in " ".join(refused(*words).split())


def test_moments_of_a_history() -> None:
    envelopes = source_of(ELECTIONS).envelopes
    first, last = envelopes[0], envelopes[-1]
    assert moment_of(envelopes, "").mono_us == last.mono_us
    assert moment_of(envelopes, "").events == len(envelopes)
    assert moment_of(envelopes, "2.5").mono_us == first.mono_us + 2_500_000
    assert moment_of(envelopes, "-2").mono_us == last.mono_us - 2_000_000
    clock = time.strftime("%H:%M:%S", time.localtime(last.wall_ms / 1000))
    at = moment_of(envelopes, clock)
    assert 0 <= last.mono_us - at.mono_us < 1_000_000
    elected = moment_of(envelopes, "ControllerElected")
    assert any(e.name == "ControllerElected" for e in envelopes[: elected.events][-20:])
    with pytest.raises(UnknownMomentError, match="the events go from"):
        moment_of(envelopes, "-500")


def test_a_file_is_named_by_what_is_drawn() -> None:
    assert file_name(["log", "web-1"]) == "log-web-1"
    assert file_name(["znodes", "/brokers/ids"]) == "znodes-brokers-ids"
    assert file_name(["chain", "b1#4711"]) == "chain-b1-4711"


def test_brokers_tell_the_tables_of_all_four_machines() -> None:
    cluster = SimCluster(3, (0, 1, 2))
    cluster.start_all()
    cluster.advance(2_000)
    told = cluster.brokers[0].tracer.snapshot()
    cluster.close()
    tables = [e.event for e in told if isinstance(e.event, StateMachineSnapshot)]
    assert {e.machine for e in tables} == {"partition", "replica", "group", "transaction"}
    assert all(e.transitions for e in tables)
