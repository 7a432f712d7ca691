"""The stored progress: it survives damage, a full disk and two writers. `solution`, `reset` and
`progress` read it.
"""

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from exercises.command import lab
from exercises.runner.manifest import find_exercise, load_manifest
from exercises.runner.progress import Progress, Record, parse, serialize
from exercises.runner.workplace import Workplace
from kafka_edu.common.files import OsFileSystem

EXERCISE = find_exercise("02-1")


def test_what_was_written_is_read() -> None:
    records = {"02-1": Record("2026-01-02T03:04:05+00:00", 3, 2), "99-9": Record(passed="x")}
    assert parse(serialize(records)) == records


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "Expecting value"),
        (b'"\xff"', "decode"),
        (b"[]", "no table of exercises"),
        (b'{"format": 2, "exercises": {}}', "format is 2, not 1"),
        (b'{"format": 1, "exercises": {"02-1": {"hints": "many"}}}', "record of 02-1"),
        (b'{"format": 1, "exercises": {"02-1": {"hints": true}}}', "record of 02-1"),
    ],
)
def test_a_damaged_store_is_put_aside_and_said_so(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    said: list[str] = []
    progress = Progress(tmp_path, said.append)
    progress.file.write_bytes(content)
    assert progress.read() == {}
    (line,) = said
    assert reason in line
    assert "begins again" in line
    (aside,) = tmp_path.glob("progress-*.json")
    assert aside.read_bytes() == content
    assert aside.name in line
    progress.change("02-1", lambda record: record._replace(hints=1))
    assert progress.of("02-1").hints == 1
    assert len(said) == 1


def test_a_full_disk_is_said_and_keeps_the_old_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    progress = Progress(tmp_path, said.append)
    progress.change("02-1", lambda record: record._replace(hints=1))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(OsFileSystem, "write_atomically", full)
    progress.change("02-1", lambda record: record._replace(hints=2))
    assert "No space left on device" in said[0]
    assert progress.of("02-1").hints == 1


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    def count(_: int) -> None:
        Progress(tmp_path).change("02-1", lambda record: record._replace(checks=record.checks + 1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(40)))
    assert Progress(tmp_path).of("02-1").checks == 40


def test_reset_keeps_a_copy_with_the_time_in_its_name(tmp_path: Path) -> None:
    work = Workplace(EXERCISE, tmp_path)
    work.start()
    assert work.reset() is None, "the starter is not worth a copy"
    for text in ("first", "second"):
        work.file.write_text(text)
        result = CliRunner().invoke(lab, ["reset", "02-1", "--dir", str(tmp_path)])
        assert "is the starter again. Your work is kept as" in result.output
        assert work.unedited
    copies = work.folder.glob("timing_wheel-*.py")
    assert {copy.read_text() for copy in copies} == {"first", "second"}


def test_the_solution_is_shown_after_passing(tmp_path: Path) -> None:
    where = ["solution", "02-1", "--dir", str(tmp_path)]
    refused = CliRunner().invoke(lab, where)
    assert refused.exit_code == 1
    assert "there are 3 more hints" in refused.output
    assert "def add" not in refused.output
    Workplace(EXERCISE, tmp_path).remember(True)
    assert "def add" in CliRunner().invoke(lab, where).output
    assert Workplace(EXERCISE, tmp_path).record.state == "passed"


def test_giving_up_is_confirmed_and_recorded(tmp_path: Path) -> None:
    where = ["solution", "02-1", "--dir", str(tmp_path)]
    work = Workplace(EXERCISE, tmp_path)
    no = CliRunner().invoke(lab, [*where, "--give-up"], input="n\n")
    assert "Your progress will say so" in no.output
    assert "def add" not in no.output
    assert not work.record.gave_up
    yes = CliRunner().invoke(lab, [*where, "--give-up"], input="y\n")
    assert "def add" in yes.output
    assert work.record.state == "gave up"
    assert "def add" in CliRunner().invoke(lab, where).output, "once is enough"
    work.remember(True)
    assert work.record.state == "passed after giving up"


def test_progress_says_how_far_and_what_is_next(tmp_path: Path) -> None:
    run = CliRunner(env={"COLUMNS": "200"})
    first = next(iter(load_manifest().values()))
    work = Workplace(first, tmp_path)
    assert f"lab start {first.id}" in run.invoke(lab, ["progress", "--dir", str(tmp_path)]).output
    work.start()
    work.next_hint()
    shown = run.invoke(lab, ["progress", "--dir", str(tmp_path)]).output
    assert "1 of 3" in shown
    assert f"lab check {first.id}" in shown
    work.remember(True)
    shown = run.invoke(lab, ["progress", "--dir", str(tmp_path)]).output
    assert "1 of " in shown
    assert f"lab check {first.id}" not in shown
