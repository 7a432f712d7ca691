"""The recorder's thread: nobody waits for it, its queue is bounded, and a Gap says which events are
missing.
"""

import threading
from pathlib import Path

import pytest

from kafka_edu.instruments import recording
from kafka_edu.instruments.recording import MOST_BYTES, QUEUE_BYTES, Recorder, read_recordings
from kafka_edu.trace.event import Envelope, Event, Source
from kafka_edu.trace.events.supervisor import ActionAsked
from kafka_edu.trace.events.timer import WheelSampled, WheelState
from kafka_edu.trace.events.trace import Gap
from kafka_edu.trace.recording_file import EventsFile, open_events
from kafka_edu.trace.wire_format import encode
from tests.waiting import PATIENCE_S

BROKER = Source.of_broker(1)


class SlowDisk:
    """Files that are not written until the disk is `ready`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ready = threading.Event()
        self.waits = threading.Event()
        self.writers: set[str] = set()
        disk = self

        class SlowFile(EventsFile):
            def write(self, data: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
                disk.waits.set()
                assert disk.ready.wait(PATIENCE_S)
                disk.writers.add(threading.current_thread().name)
                return super().write(data)

        monkeypatch.setattr(recording, "open_events", lambda path, mode: SlowFile(path, mode))
        self.read = open_events


def line(number: int, event: Event) -> tuple[str, bytes]:
    return type(event).__name__, encode(Envelope(BROKER, number, 0, 0, number, event))


def fact(size: int) -> ActionAsked:
    return ActionAsked(action="x" * size, target=BROKER)


def gauge(size: int) -> WheelSampled:
    return WheelSampled(
        state=WheelState(
            timer="x" * size,
            level=1,
            tick_ms=1,
            wheel_size=1,
            current_time_ms=0,
            tasks_by_slot=(0,),
            made_ms=0,
            made_for_delay_ms=0,
        )
    )


def test_a_thread_of_its_own_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SlowDisk(monkeypatch)
    recorder = Recorder(tmp_path / "r.jsonl", "demo")
    recorder.write_line(*line(1, fact(1)))  # the disk is not ready, and this returns
    disk.ready.set()
    recorder.close()
    assert disk.writers == {"recorder"}


def test_of_a_slow_disk_samples_are_left_out_first_and_a_gap_counts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = SlowDisk(monkeypatch)
    path = tmp_path / "r.jsonl"
    recorder = Recorder(path, "demo")
    half = QUEUE_BYTES // 2
    recorder.write_line(*line(1, gauge(half)))
    recorder.write_line(*line(2, gauge(half)))
    for number in range(3, 6):
        recorder.write_line(*line(number, fact(half)))
    disk.ready.set()
    recorder.close()
    assert not recorder.takes_snapshot(), "samples come again by themselves"
    monkeypatch.undo()
    events = [envelope.event for envelope in read_recordings([path])]
    gaps = [event for event in events if isinstance(event, Gap)]
    assert [type(event) for event in events if not isinstance(event, Gap)] == [
        WheelSampled,
        ActionAsked,
        ActionAsked,
        ActionAsked,
    ]
    assert gaps == [Gap(dropped=1, by_type=(("WheelSampled", 1),))]


def test_what_waits_for_the_disk_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = SlowDisk(monkeypatch)
    path = tmp_path / "r.jsonl"
    recorder = Recorder(path, "demo")
    big = MOST_BYTES // 4
    for number in range(1, 10):
        recorder.write_line(*line(number, fact(big)))
    assert not recorder.takes_snapshot(), "a snapshot would be left out too"
    disk.ready.set()
    recorder.close()
    assert recorder.takes_snapshot()
    assert not recorder.takes_snapshot(), "one is enough"
    monkeypatch.undo()
    events = [envelope.event for envelope in read_recordings([path])]
    assert sum(isinstance(event, ActionAsked) for event in events) == 3
    assert [e for e in events if isinstance(e, Gap)] == [
        Gap(dropped=6, by_type=(("ActionAsked", 6),))
    ]


def test_the_end_of_a_recording_that_a_slow_disk_delays_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = SlowDisk(monkeypatch)
    monkeypatch.setattr(recording, "SILENT_S", 0.0)
    path = tmp_path / "r.jsonl"
    recorder = Recorder(path, "demo")
    recorder.write_line(*line(1, fact(2**20)))
    said: list[str] = []

    def say(words: str) -> None:
        said.append(words)
        disk.ready.set()

    recorder.close(say)
    monkeypatch.undo()
    (words,) = said
    assert words.startswith(f"writing the last 1.0 MB of events to {path}, because")
    assert len(read_recordings([path])) == 1
