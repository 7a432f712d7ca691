"""The player of recordings: speed, steps, winding, and the files that it plays."""

from pathlib import Path

import pytest

from kafka_edu.instruments.link_events import LinkLost
from kafka_edu.instruments.recording import Recorder, cluster_of, read_recordings
from kafka_edu.instruments.replay import Replay
from kafka_edu.trace.event import SUPERVISOR, Source
from kafka_edu.trace.events.supervisor import ActionAsked
from kafka_edu.trace.events.timer import TimerSampled, TimerState
from kafka_edu.trace.wire_format import TraceFormatError
from tests.unit.tui.story_of_events import Story


def story() -> Story:
    """One fact each second for ten seconds, and one gauge between any two facts."""
    story = Story()
    for second in range(11):
        story.tell(SUPERVISOR, ActionAsked(action="kill", target=Source.of_broker(second)))
        story.now_ms += 500
        story.tell(
            0,
            TimerSampled(
                state=TimerState(
                    timer="Produce",
                    now_ms=second,
                    current_time_ms=0,
                    tasks=0,
                    queued_buckets=0,
                    next_bucket_ms=None,
                    inserted_total=0,
                    cancelled_total=0,
                    expired_total=0,
                    demoted_total=0,
                )
            ),
        )
        story.now_ms += 500
    return story


def test_it_goes_at_the_recorded_pace_times_the_speed() -> None:
    replay = Replay(story().envelopes)
    assert len(replay.advance(0)) == 1
    assert len(replay.advance(1_000_000)) == 2
    replay.faster()
    assert (replay.speed, len(replay.advance(1_000_000)), replay.at_ms) == (2.0, 4, 3_000)
    replay.slower()
    replay.slower()
    assert (replay.speed, len(replay.advance(1_000_000))) == (0.5, 1)
    replay.advance(100_000_000)
    assert (replay.ended, replay.playing, replay.at_ms) == (True, False, replay.length_ms)


def test_a_step_stops_at_the_next_fact_and_a_step_back_at_the_one_before() -> None:
    replay = Replay(story().envelopes)
    replay.advance(0)
    assert ([e.name for e in replay.step()], replay.playing, replay.at_ms) == (
        ["TimerSampled", "ActionAsked"],
        False,
        1_000,
    )
    replay.step()
    back = replay.step_back()
    assert ([e.name for e in back], replay.at_ms) == (
        ["ActionAsked", "TimerSampled", "ActionAsked"],
        1_000,
    )
    assert replay.advance(5_000_000) == [], "it stands still"


def test_winding_hands_out_all_from_the_beginning() -> None:
    replay = Replay(story().envelopes)
    assert len(replay.wind_to(5_000)) == 11
    assert len(replay.wind_to(-5)) == 1
    assert len(replay.wind_to(10**9)) == 22


def test_an_empty_recording_is_none() -> None:
    with pytest.raises(ValueError, match="no events"):
        Replay([])


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_what_was_recorded_is_read_again_without_what_is_no_event_of_the_cluster(
    tmp_path: Path, name: str
) -> None:
    told = story()
    recorder = Recorder(tmp_path / name, "demo")
    recorder.write([*told.envelopes, Story().tell(0, LinkLost("closed"))])
    recorder.close()
    assert read_recordings([tmp_path / name]) == told.envelopes
    assert cluster_of(tmp_path / name) == "demo"


def test_several_recordings_are_merged_by_time(tmp_path: Path) -> None:
    told = story()
    for name, teller in (("a", SUPERVISOR), ("b", Source.of_broker(0))):
        recorder = Recorder(tmp_path / name, "demo")
        recorder.write(e for e in told.envelopes if e.source == teller)
        recorder.close()
    assert read_recordings([tmp_path / "a", tmp_path / "b"]) == told.envelopes


def test_a_file_that_is_no_recording_is_named(tmp_path: Path) -> None:
    for name, content in (("x.jsonl", b"hello\n"), ("x.gz", b"not packed")):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(TraceFormatError, match=name):
            read_recordings([path])


def _recorded(path: Path) -> list[bytes]:
    recorder = Recorder(path, "demo")
    recorder.write(story().envelopes)
    recorder.close()
    return path.read_bytes().splitlines(keepends=True)


def test_damaged_lines_are_left_out_counted_and_said(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = _recorded(path)
    path.write_bytes(b"".join([*lines[:2], b"\0\xff\n", *lines[2:], b'[["broker",0],1,0\n']))
    said: list[str] = []
    assert read_recordings([path], said.append) == story().envelopes
    assert len(said) == 1
    assert said[0].startswith(f"{path}: 2 lines cannot be read and are left out: line 3: not an")
    with pytest.raises(TraceFormatError, match="line 3: not an event"):
        read_recordings([path])


def test_a_damaged_header_leaves_out_all_up_to_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "both.jsonl"
    lines = _recorded(path)
    broken = lines[0].replace(b"fields", b"feilds")
    path.write_bytes(b"".join([*lines, broken, *lines[1:], *lines]))
    said: list[str] = []
    assert len(read_recordings([path], said.append)) == 2 * len(story().envelopes)
    assert said[0].startswith(f"{path}: {len(lines)} lines cannot be read and are left out: line")


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_missing_end_is_said(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    _recorded(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-12])
    said: list[str] = []
    kept = read_recordings([path], said.append)
    assert kept == story().envelopes[: len(kept)]
    assert len(said) == 1
    assert "its end is missing" in said[0]


def test_an_end_that_cannot_be_unpacked_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    _recorded(path)
    spoiled = bytearray(path.read_bytes())
    spoiled[-6] ^= 0xFF  # the checksum
    path.write_bytes(spoiled)
    said: list[str] = []
    assert read_recordings([path], said.append) == story().envelopes
    assert len(said) == 1
    assert "the rest cannot be unpacked" in said[0]
    with pytest.raises(TraceFormatError, match=r"a\.jsonl\.gz"):
        read_recordings([path])
