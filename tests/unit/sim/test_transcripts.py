"""Scenarios in virtual time: each transcript runs exactly as written, and the same seed gives the
same events, byte for byte.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_edu.sim.transcript import Scenario, TranscriptError, commands, run

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_transcript_goes_as_it_is_written(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert run(text) == text


def events_of(path: Path) -> bytes:
    scenario = Scenario()
    for command in commands(path.read_text(encoding="utf-8")):
        scenario.run(command)
    assert scenario.cluster is not None
    assert scenario.cluster.loop.errors == []
    return scenario.cluster.events_bytes()


def test_the_same_seed_gives_the_same_events_byte_for_byte() -> None:
    path = TRANSCRIPTS[0]
    first = events_of(path)
    assert first.count(b"\n") > 300
    assert events_of(path) == first


def test_and_so_it_does_in_another_process_with_other_hashes() -> None:
    path = TRANSCRIPTS[0]
    script = (
        f"import sys; sys.path[:0] = {[str(Path(__file__).parent), *sys.path]!r}\n"
        "from test_transcripts import *\n"
        f"print(hashlib.sha256(events_of(Path({str(path)!r}))).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        ).stdout
        for seed in ("1", "2")
    }
    assert digests == {hashlib.sha256(events_of(path)).hexdigest() + "\n"}


def test_another_seed_gives_other_events() -> None:
    text = TRANSCRIPTS[0].read_text(encoding="utf-8").split("\n> pause")[0]
    streams = []
    for seed in (1, 2):
        scenario = Scenario()
        for command in commands(text.replace("seed=1", f"seed={seed}")):
            scenario.run(command)
        assert scenario.cluster is not None
        streams.append(scenario.cluster.events_bytes())
    assert streams[0] != streams[1]


def test_a_wrong_line_is_named() -> None:
    with pytest.raises(TranscriptError, match="line 2: > dance: no such command"):
        run("# a comment\n> dance\n")
    with pytest.raises(TranscriptError, match="the first command must be: cluster"):
        run("> show\n")
