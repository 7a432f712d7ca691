"""Broken recordings and odd orders of events: the dashboard says what is wrong, or shows what it
can.

If a file is no recording, the dashboard ends with one line that names the file. Damaged lines in a
recording are left out and counted, their number is shown, and the rest is shown. Events in an odd
order or at odd times are drawn on every screen without an error, and the events after them are
shown as usual.
"""

import asyncio
import gzip
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

import tui.app as app_module
from kafka_edu.instruments.recording import read_recordings
from kafka_edu.instruments.replay import Replay
from kafka_edu.trace.event import Envelope
from tests.tui.moments import RECORDINGS
from tui.app import DashboardApp
from tui.command import dashboard
from tui.screens.registry import DECLARATIONS

pytestmark = pytest.mark.tui

KILLED: Final = RECORDINGS / "leader-killed.jsonl.gz"
OTHER: Final = RECORDINGS / "controller-killed.jsonl.gz"
HOUR_US: Final = 3_600_000_000


def _run(*files: Path, tmp_path: Path) -> tuple[int, str]:
    """Draw the cluster from the files. Return the exit code and the output."""
    arguments = [word for file in files for word in ("--replay", str(file))]
    arguments += ["--screenshot", str(tmp_path / "out.svg"), "--at", "1"]
    result = CliRunner().invoke(dashboard, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result.exit_code, result.output


def _lines() -> list[bytes]:
    return gzip.decompress(KILLED.read_bytes()).splitlines(keepends=True)


def _flipped() -> bytes:
    raw = bytearray(KILLED.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    return bytes(raw)


def _with_line(line: bytes) -> bytes:
    lines = _lines()
    lines[50] = line
    return b"".join(lines)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.jsonl", lambda: b"", "first line is not their header"),
        ("empty.jsonl.gz", lambda: b"", "first line is not their header"),
        ("header-alone.jsonl", lambda: _lines()[0], "holds no events"),
        ("text.jsonl", lambda: b"hello\n", "first line is not their header"),
        ("noise.jsonl.gz", lambda: bytes(range(256)) * 40, "Not a gzipped file"),
        (
            "odd-header.jsonl",
            lambda: b'{"kafka-edu-events":2,"fields":[1,2]}\n',
            "first line is not their header",
        ),
        (
            "old.jsonl",
            lambda: b'{"kafka-edu-events":1,"source":0,"fields":{}}\n',
            "these events have format 1",
        ),
    ],
)
def test_a_broken_recording_is_named_in_one_line(
    name: str, content: Callable[[], bytes], words: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content())
    code, output = _run(path, tmp_path=tmp_path)
    assert code == 1
    assert words in output
    assert name in output
    assert output.count("\n") == 1, output


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("flipped.jsonl.gz", _flipped, "its end is missing: the rest cannot be unpacked"),
        (
            "noise-within.jsonl",
            lambda: _with_line(b"noise \xff\xfe\n"),
            "left out: line 51: not an event",
        ),
        (
            "few-values.jsonl",
            lambda: _with_line(b'[["broker",0],1,0,1,7393770857,"SessionSnapshot",[1]]\n'),
            "left out: line 51: not an event",
        ),
        (
            "odd-values.jsonl",
            lambda: _with_line(b'[["broker",0],1,0,1,"late","SessionSnapshot",{}]\n'),
            "left out: line 51: not an event",
        ),
    ],
)
def test_a_damaged_recording_is_drawn_and_what_is_missing_is_said(
    name: str, content: Callable[[], bytes], words: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content())
    code, output = _run(path, tmp_path=tmp_path)
    assert code == 0, output
    assert f"{path}: 1 line cannot be read" in output or "unpacked" in words
    assert words in output
    assert (tmp_path / "out.svg").stat().st_size > 10_000


def test_the_dashboard_of_a_damaged_recording_says_what_is_missing() -> None:
    async def look() -> None:
        replay = Replay(read_recordings([KILLED]))
        app = DashboardApp("demo", replay=replay, warnings=["x: 1 line cannot be read"])
        async with app.run_test(size=(80, 24), notifications=True) as pilot:
            await pilot.pause()
            shown = [str(toast.render()) for toast in app.screen.query("Toast")]
            assert any("1 line cannot be read" in text for text in shown), shown

    asyncio.run(look())


def test_a_recording_that_was_cut_off_opens(tmp_path: Path) -> None:
    packed = KILLED.read_bytes()
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(packed[: len(packed) // 2])
    assert _run(cut, tmp_path=tmp_path)[0] == 0
    plain = tmp_path / "cut.jsonl"
    plain.write_bytes(b"".join(_lines())[:200_001])
    assert _run(plain, tmp_path=tmp_path)[0] == 0


def test_recordings_in_one_file_are_one_history(tmp_path: Path) -> None:
    """`cat a b > c`: a header within the file begins the next recording."""
    both = tmp_path / "both.jsonl.gz"
    both.write_bytes(KILLED.read_bytes() + OTHER.read_bytes())
    expected = len(read_recordings([KILLED])) + len(read_recordings([OTHER]))
    assert len(read_recordings([both])) == expected
    assert _run(both, tmp_path=tmp_path)[0] == 0
    assert _run(KILLED, KILLED, OTHER, tmp_path=tmp_path)[0] == 0


def test_an_unknown_event_and_an_unknown_word_are_left_out(tmp_path: Path) -> None:
    lines = _lines()
    head = json.loads(lines[0])
    head["fields"]["FromTheFuture"] = ["what"]
    future = b'[["broker",0],1,0,1795278976273,7393770857,"FromTheFuture",["x"]]\n'
    odd = b'[["martian",0],1,0,1795278976273,7393770857,"FromTheFuture",["x"]]\n'
    path = tmp_path / "future.jsonl"
    path.write_bytes(b"".join([json.dumps(head).encode() + b"\n", *lines[1:9], future, *lines[9:]]))
    said: list[str] = []
    assert len(read_recordings([path], said.append)) == len(lines) - 1
    assert said == [
        f"{path}: 1 event of a kind that this program does not know is left out: FromTheFuture"
    ]
    path.write_bytes(b"".join([*lines[:9], odd, *lines[9:]]))
    code, output = _run(path, tmp_path=tmp_path)
    assert (code, "line 10: not an event" in output) == (0, True)


def _jump_forward(envelopes: Sequence[Envelope]) -> list[Envelope]:
    """Return a history in which the machine slept for eight hours."""
    half = len(envelopes) // 2
    return [
        *envelopes[:half],
        *(
            each._replace(mono_us=each.mono_us + 8 * HOUR_US, wall_ms=each.wall_ms + 28_800_000)
            for each in envelopes[half:]
        ),
    ]


def _jump_back(envelopes: Sequence[Envelope]) -> list[Envelope]:
    """Return a history in which the clocks are set back by an hour in the middle, to a time before
    its start.
    """
    half = len(envelopes) // 2
    return [
        *envelopes[:half],
        *(
            each._replace(mono_us=max(0, each.mono_us - HOUR_US), wall_ms=each.wall_ms - 3_600_000)
            for each in envelopes[half:]
        ),
    ]


def _shuffled(envelopes: Sequence[Envelope]) -> list[Envelope]:
    return random.Random(1).sample(envelopes, len(envelopes))


def _with_gaps(envelopes: Sequence[Envelope]) -> list[Envelope]:
    """Return about a third of the events, chosen at random. So facts are missing after a snapshot,
    and some facts change things that no earlier event has named.
    """
    chance = random.Random(2)
    return [each for each in envelopes if chance.random() < 0.33]


def _without_a_beginning(envelopes: Sequence[Envelope]) -> list[Envelope]:
    return list(envelopes[len(envelopes) * 2 // 3 :])


def _twice(envelopes: Sequence[Envelope]) -> list[Envelope]:
    return [each for envelope in envelopes for each in (envelope, envelope)]


@pytest.mark.parametrize(
    ("spoil", "recording"),
    [
        (_jump_forward, "leader-killed"),
        (_jump_back, "follower-paused"),
        (_shuffled, "leader-killed"),
        (_with_gaps, "third-consumer"),
        (_without_a_beginning, "replica-truncated"),
        (_twice, "third-consumer"),
    ],
)
@pytest.mark.rotated
def test_odd_histories_are_drawn_on_every_screen(
    spoil: Callable[[Sequence[Envelope]], list[Envelope]], recording: str
) -> None:
    envelopes = read_recordings([RECORDINGS / f"{recording}.jsonl.gz"])
    last = envelopes[-1]

    async def look() -> None:
        app = DashboardApp("demo", replay=Replay(envelopes))
        async with app.run_test(size=(80, 24)) as pilot:
            assert app.replay is not None
            app.replay.playing = False
            spoiled = spoil(envelopes)
            for part in (spoiled[: len(spoiled) // 2], spoiled[len(spoiled) // 2 :]):
                app.model.apply(part)
                app.model.advance(part[-1].mono_us)
                for each in DECLARATIONS:
                    app.action_look(each.name)
                    await pilot.pause()
                    app.look()
            app.model.reset()  # as every wind to another time does
            app.model.apply(envelopes)
            app.model.advance(last.mono_us)
            app.action_look("cluster")
            await pilot.pause()
            assert app.model.cluster.partitions.counts()[0] >= 1

    asyncio.run(look())


def test_a_dashboard_that_stood_still_goes_on_where_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The dashboard was stopped with ctrl+z for eight hours, or the laptop slept. Afterwards the
    recording must not be played to its end at once.
    """

    async def look() -> None:
        replay = Replay(read_recordings([KILLED]))
        app = DashboardApp("demo", replay=replay)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            before = replay.at_ms
            real = app_module.now_us
            monkeypatch.setattr(app_module, "now_us", lambda: real() + 8 * HOUR_US)
            app.tick()
            assert replay.at_ms - before < 3_000
            assert replay.playing
            monkeypatch.setattr(app_module, "now_us", lambda: real() - 8 * HOUR_US)
            at = replay.at_ms
            app.tick()
            assert replay.at_ms >= at  # a clock that goes back takes nothing back

    asyncio.run(look())


def test_a_terminal_of_any_size_is_drawn() -> None:
    async def look() -> None:
        app = DashboardApp("demo", replay=Replay(read_recordings([KILLED])))
        async with app.run_test(size=(80, 24)) as pilot:
            for each in DECLARATIONS:
                app.action_look(each.name)
                for size in ((20, 5), (1, 1), (80, 24)):
                    await pilot.resize_terminal(*size)
                    await pilot.pause()
                    app.look()

    asyncio.run(look())
