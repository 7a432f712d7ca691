"""A recording on a full disk: it ends with one reason, and its lines up to then can be read."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_edu.instruments.recording import Recorder, read_recordings
from kafka_edu.trace.event import SUPERVISOR, Envelope
from kafka_edu.trace.events.supervisor import ActionAsked
from kafka_edu.trace.recording_file import open_events
from kafka_edu.trace.wire_format import encode, encode_header

#: Mounts a disk of 1 MB on its first argument and records there until it is full, and longer. Says
#: the recorder's failure, how many events were written and how many can be read, and what the
#: reader warns of. The events cannot be compressed by much.
SCRIPT = """
import random, sys, time
from pathlib import Path
from chapters.demo_parts.private_mounts import enter
from kafka_edu.instruments import recording
from kafka_edu.instruments.recording import Recorder, read_recordings
from kafka_edu.trace.event import SUPERVISOR, Envelope
from kafka_edu.trace.events.supervisor import ActionAsked

folder, name = Path(sys.argv[1]), sys.argv[2]
mounts = enter()
if mounts.refused:
    sys.exit("skip: " + mounts.refused)
mounts.small_disk(folder, 1024 * 1024)
chance = random.Random(7)
event = lambda: ActionAsked(action=chance.randbytes(2000).hex(), target=SUPERVISOR, title="")
recording.WAKE_BYTES = 0
recorder = Recorder(folder / name, "demo")
written = 0
while not recorder.failure and written < 10_000:
    events = [
        Envelope(SUPERVISOR, n, 0, n, n * 100_000, event())
        for n in range(written, written + 7)
    ]
    recorder.write(events)
    while recorder._bytes and not recorder.failure:
        time.sleep(0.001)  # the recorder's thread writes
    written += 7
recorder.write(events)
recorder.close()
warnings = []
found = read_recordings([folder / name], warnings.append)
assert [e.seq for e in found] == list(range(len(found))), found[-1]
print(recorder.failure.replace(str(folder), ""))
print(100 < len(found) < written, len(found) > written - 200)
print(warnings)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a small disk of its own needs Linux")
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_recording_on_a_full_disk_ends_whole(tmp_path: Path, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), name],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.stderr.startswith("skip: "):
        pytest.skip(done.stderr.removeprefix("skip: ").strip())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"the recording /{name} has ended, because it cannot be written (No space left on device);"
        " its lines up to then can be read",
        "True True",
        "[]",
    ]


def _event(number: int) -> Envelope:
    title = os.urandom(500).hex()
    return Envelope(
        SUPERVISOR,
        number,
        0,
        number,
        number,
        ActionAsked(action="kill", target=SUPERVISOR, title=title),
    )


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_file_that_fails_at_any_byte_can_be_read_up_to_an_event(
    tmp_path: Path, name: str
) -> None:
    """Cut the file where the disk was full, then end it as EventsFile does."""
    path = tmp_path / name
    events = [_event(n) for n in range(30)]
    for lost in range(1, 40, 3):
        file = open_events(path, "wb")
        file.write(encode_header(SUPERVISOR, "demo"))
        for event in events:
            file.write(encode(event))
            if event.seq % 3 == 0:
                file.flush()
        file.flush()
        os.truncate(path, path.stat().st_size - lost)
        file._end_whole()  # type: ignore[attr-defined]  # what a failed write calls
        warnings: list[str] = []
        found = read_recordings([path], warnings.append)
        assert (found, warnings) == (events[: len(found)], [])
        assert len(found) >= 27, lost


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_recorder_whose_file_takes_nothing_raises_nothing() -> None:
    recorder = Recorder(Path("/dev/full"), "demo")
    for number in range(100):
        recorder.write([_event(number * 1_000_000)])
    recorder.close()
    assert "(No space left on device)" in recorder.failure
