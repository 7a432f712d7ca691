"""`story`: one record's life, from recordings in virtual time."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kafka_edu.cli.story_command import story
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.trace.event import Envelope, Level, Source
from kafka_edu.trace.events.replication import LogTruncatedByRange
from tests.unit.instruments.simulated import WEB, Simulated


@pytest.fixture
def hops() -> Iterator[Simulated]:
    world = Simulated(Level.HOPS)
    yield world
    world.cluster.close()


@pytest.fixture
def states() -> Iterator[Simulated]:
    world = Simulated(Level.STATE)
    yield world
    world.cluster.close()


def run(world: Simulated, tmp_path: Path, *words: str) -> Result:
    world.sample()
    file = world.record(tmp_path / "sim.jsonl.gz")
    return CliRunner().invoke(story, [*words, "--replay", str(file)])


def lived(world: Simulated) -> None:
    """Write two records, and read them."""
    for value in ("one", "two"):
        world.client.produce(WEB, value, -1)
        world.cluster.advance(1500)
    world.cluster.run_as(world.client.process, world.client.consume(WEB, 0))


def test_a_record_whose_hops_were_recorded_has_its_whole_life(
    hops: Simulated, tmp_path: Path
) -> None:
    lived(hops)
    answer = tmp_path / "answer.json"
    result = run(hops, tmp_path, "web-0@1", "--json", str(answer))
    assert result.exit_code == 0, result.output
    assert max(map(len, result.output.splitlines())) <= 80
    told = json.loads(answer.read_text())
    steps = told["steps"]
    by_stage: dict[str, list[str]] = {}
    for step in steps:
        by_stage.setdefault(step["stage"], []).append(step["text"])
    recorded = {step["stage"] for step in steps if step["recorded"]}
    assert recorded == {
        "connection",
        "request",
        "queue",
        "batch",
        "log",
        "wait",
        "waited",
        "follower",
        "committed",
        "answer",
        "consumer",
    }
    assert "of client arrives" in by_stage["request"][0]
    assert by_stage["send"] == [
        "the producer emits no events: its send() and its batches are not seen"
    ]
    assert by_stage["log"] == ["written to segment 0 at byte 71"]
    followers = sorted({1, 2, 3} - {hops.leader})
    for broker in followers:
        assert any(text.startswith(f"broker {broker} stores it") for text in by_stage["follower"])
        assert any(f"broker {broker} fetches from 2 on" in t for t in by_stage["follower"])
    assert by_stage["committed"] == ["the high watermark moves 1 → 2: committed"]
    assert by_stage["consumer"] == ["consumer client fetches it, from offset 0 on"]
    assert by_stage["group"] == ["no commit of a group past it was recorded"]
    times = [step["since_us"] for step in steps if step["recorded"]]
    assert times[0] < 0 <= min(times[1:])


def test_hops_that_were_not_recorded_are_named_and_the_present_fills_in(
    states: Simulated, tmp_path: Path
) -> None:
    lived(states)
    result = run(states, tmp_path, "web-0@1")
    assert result.exit_code == 0, result.output
    words = " ".join(result.output.split())
    assert "when the request arrived was not recorded" in words
    assert "committed: the high watermark is 2; the moment when it passed was not recorded" in words
    assert "no fetch of this record by a consumer was recorded" in words


def test_a_slow_produce_has_hops_at_level_state_and_is_found_by_its_request(
    states: Simulated, tmp_path: Path
) -> None:
    lived(states)
    states.cluster.pause(states.follower)
    states.client.produce(WEB, "slow", -1)
    states.cluster.advance(2500)
    states.cluster.resume(states.follower)
    states.cluster.advance(2000)
    result = run(states, tmp_path, "--produce", "client#0")
    assert result.exit_code == 0, result.output
    words = " ".join(result.output.split())
    assert words.startswith("web-0@2 ")
    assert "the wait ends after" in words
    assert f"HW moved: broker {states.follower} fetched" in words
    assert "the high watermark moves 2 → 3: committed" in words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["web-0@2"], "web-0@2 is above the log end: the next record of web-0 gets offset 2"),
        (["web-7@0"], "topic web has no partition 7; known: 0"),
        (["nosuch-0@0"], "there is no topic 'nosuch'; known: web"),
        (["web-0"], "'web-0' names no record: write TOPIC-PARTITION@OFFSET"),
        (["--produce", "nobody#5"], "no hop of produce nobody#5 was recorded"),
        (["--produce", "nobody"], "'nobody' names no request: write CLIENT#CORRELATION"),
    ],
)
def test_what_cannot_be_told_is_one_clear_line(
    states: Simulated, tmp_path: Path, words: list[str], message: str
) -> None:
    lived(states)
    result = run(states, tmp_path, *words)
    assert result.exit_code == 1
    assert message in result.output
    assert len(result.output.splitlines()) == 1


def test_one_of_the_two_ways_to_name_a_record_is_needed() -> None:
    for words in ([], ["web-0@1", "--produce", "a#1"]):
        result = CliRunner().invoke(story, words)
        assert result.exit_code == 2
        assert "name one record" in result.output


def test_a_topic_with_dashes_is_a_topic(states: Simulated, tmp_path: Path) -> None:
    create = states.client.create_topic("big-web-2", 1, 3)
    states.cluster.run_as(states.client.process, create)
    states.cluster.advance(2000)
    states.client.produce(TopicPartition("big-web-2", 0), "x", 1)
    states.cluster.advance(1000)
    assert run(states, tmp_path, "big-web-2-0@0").exit_code == 0


def test_an_offset_that_was_cut_off_says_so(states: Simulated, tmp_path: Path) -> None:
    """`story` reports that a broker cut off the record. It does so if the offset is now above the
    log end, and also if the offset now belongs to a different record.
    """
    lived(states)
    first = states.cluster.sink.events[0]
    cut = LogTruncatedByRange(
        topic="web", partition=0, before=5, after=0, leader=states.leader, reason="diverged"
    )
    told = Envelope(
        Source.of_broker(states.follower), 99_999, 0, first.wall_ms, first.mono_us + 1, cut
    )
    states.cluster.sink.events.append(told)
    words = f"broker {states.follower} cuts its log back from 5 to 0 and loses the record that"
    gone = run(states, tmp_path, "web-0@3")
    assert gone.exit_code == 1
    assert words in " ".join(gone.output.split())
    there = run(states, tmp_path, "web-0@1")
    assert there.exit_code == 0, there.output
    assert words in " ".join(there.output.split())
