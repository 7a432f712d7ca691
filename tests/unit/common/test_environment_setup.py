"""The first start of a checkout: a Python environment, and packages by the first installer found.

The installer is a stand-in that shows the packages of this environment to the new one, so nothing
is fetched.
"""

import fcntl
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from kafka_edu.common import environment_setup
from kafka_edu.common.environment_setup import (
    GROUPS,
    STAMPS,
    SetupError,
    download_size_mb,
    install_groups,
)
from kafka_edu.common.python_process import checkout

UV = """#!/bin/sh
[ "$1" = --version ] && exit 0
echo "$@" >>"{log}"
"$4" -c 'import sysconfig; open(sysconfig.get_path("purelib") + "/here.pth", "w").write("{site}")'
"""


class FirstStart:
    """A folder for the environment, and a PATH with a stand-in for uv."""

    def __init__(self, folder: Path) -> None:
        self.venv = folder / "an environment"
        self.log = folder / "uv.log"
        self._tools = folder / "tools"
        self._tools.mkdir()
        uv = self._tools / "uv"
        uv.write_text(UV.format(log=self.log, site=sysconfig.get_path("purelib")))
        uv.chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {
            "KAFKA_EDU_VENV": str(self.venv),
            "KAFKA_EDU_PYTHON": sys.executable,
            "PATH": f"{self._tools}{os.pathsep}{os.environ['PATH']}",
        }

    @property
    def command(self) -> list[str]:
        root = checkout()
        assert root is not None
        return [str(root / "kafka-edu"), "--version"]

    def run(self, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command,
            env=self.environment | environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def installed(self) -> list[str]:
        """Return the locks that were installed, in order."""
        if not self.log.exists():
            return []
        return [Path(line.split()[-1]).stem for line in self.log.read_text().splitlines()]


@pytest.fixture
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FirstStart:
    first = FirstStart(tmp_path)
    monkeypatch.setenv("PATH", first.environment["PATH"])
    return first


def test_the_first_start_installs_and_later_ones_do_not(first: FirstStart) -> None:
    done = first.run()
    assert (done.returncode, done.stdout) == (0, "kafka-edu, version 0.1.0\n"), done.stderr
    assert done.stderr == (
        f"kafka-edu: fetching the packages of 'main', at most {download_size_mb('main')} MB,"
        f" into {first.venv}\n"
    )
    again = first.run()
    assert (again.returncode, again.stderr) == (0, "")
    assert first.installed() == ["main"]


def test_a_changed_lock_and_a_python_that_has_gone_are_seen(first: FirstStart) -> None:
    assert first.run().returncode == 0
    (first.venv / STAMPS / "main.txt").write_text("of last year\n")
    assert first.run().returncode == 0
    python = first.venv / "bin" / "python"
    python.unlink()
    python.symlink_to("/nowhere/python")
    assert first.run().returncode == 0
    assert first.installed() == ["main"] * 3


def test_a_folder_that_holds_something_else_is_left_alone(first: FirstStart) -> None:
    first.venv.mkdir()
    (first.venv / "diary").touch()
    done = first.run()
    assert done.returncode == 1
    assert "is in the way: it is not a Python environment. Move it" in done.stderr
    assert (first.venv / "diary").exists()


def test_without_a_usable_python_the_message_says_how_to_get_one(first: FirstStart) -> None:
    done = first.run(KAFKA_EDU_PYTHON="false")
    assert done.returncode == 1
    assert done.stderr.startswith("kafka-edu: found no usable Python, tried false.\n")
    assert "sudo apt install python3\n" in done.stderr


def test_a_set_up_waits_for_another_one(first: FirstStart) -> None:
    first.venv.mkdir()
    folder = os.open(first.venv, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    with subprocess.Popen(
        first.command, env=first.environment, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert "another set-up is at work" in process.stderr.readline()
        assert first.installed() == []
        os.close(folder)
        process.stderr.read()
    assert process.returncode == 0
    assert first.installed() == ["main"]


def test_a_group_is_installed_once(first: FirstStart) -> None:
    install_groups(first.venv, ["main"])
    install_groups(first.venv, ["test"])
    install_groups(first.venv, ["main", "test"])
    assert first.installed() == ["main", "test"]


def test_a_set_up_that_was_stopped_installs_its_packages_again(first: FirstStart) -> None:
    install_groups(first.venv, ["main"])
    (first.venv / STAMPS / "test.unfinished").touch()
    install_groups(first.venv, ["test"])
    assert [("--reinstall" in line) for line in first.log.read_text().splitlines()] == [False, True]
    assert not (first.venv / STAMPS / "test.unfinished").exists()


def test_pip_is_tried_when_uv_fails_and_the_message_says_what_to_do(
    first: FirstStart, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environment_setup, "_uv", lambda venv: ["false"])
    monkeypatch.setattr(environment_setup, "_own_pip", lambda venv: None)
    monkeypatch.setattr(environment_setup, "_ensured_pip", lambda venv: ["false"])
    with pytest.raises(SetupError, match="could not install the packages of 'main'") as failed:
        install_groups(first.venv, ["main"])
    assert "or PIP_INDEX_URL for a mirror" in str(failed.value)
    assert "uv could not install them; trying pip" in capfd.readouterr().err


def test_without_any_installer_the_message_names_some(
    first: FirstStart, monkeypatch: pytest.MonkeyPatch
) -> None:
    for way in ("_uv", "_own_pip", "_ensured_pip", "_debian_pip"):
        monkeypatch.setattr(environment_setup, way, lambda venv: None)
    with pytest.raises(SetupError, match="sudo apt install python3-venv"):
        install_groups(first.venv, ["main"])


def test_each_group_has_a_lock_and_a_size() -> None:
    root = checkout()
    assert root is not None
    locks = {path.stem for path in (root / "requirements").glob("*.txt")}
    assert locks == {"main", *GROUPS}
    assert all(download_size_mb(group) > 0 for group in locks)


@pytest.mark.parametrize("on_terminal", [True, False])
def test_it_says_how_much_was_fetched(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    on_terminal: bool,
) -> None:
    monkeypatch.setattr(environment_setup, "SAY_EVERY_S", 0.0)
    monkeypatch.setattr(environment_setup, "WRITE_EVERY_S", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: on_terminal)
    fetched = environment_setup._Fetched(tmp_path, 590)
    for name, megabytes in (("pip-unpack-a", 2), ("pip-unpack-b", 3), ("pip-build-env", 9)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.whl").write_bytes(bytes(megabytes * 1_000_000))
    fetched.look()
    fetched.look()
    fetched.end()
    said = capsys.readouterr().err
    line = "kafka-edu: 5 of at most 590 MB after 0 s"
    assert said == (f"\r{line}\r{line}\n" if on_terminal else f"{line}\n{line}\n")


def test_what_pip_fetches_lies_in_one_folder_that_goes_with_it(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    script = f'echo "$TMPDIR $PIP_RESUME_RETRIES" >{seen}; touch "$TMPDIR/left"; exit 7'
    assert environment_setup._run_pip(["/bin/sh", "-c", script], 1) == 7
    folder, retries = seen.read_text().split()
    assert Path(folder).name.startswith("kafka-edu-fetch-")
    assert not Path(folder).exists()
    assert retries == "5"


def test_a_download_that_was_cut_begins_once_more(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tried, seen = tmp_path / "tried", tmp_path / "seen"
    wait = f"until [ -e {seen} ]; do :; done"  # the second try goes on at once: it is there already
    script = (
        f'echo once >>{tried}; mkdir "$TMPDIR/pip-unpack-a"; echo >"$TMPDIR/pip-unpack-a/a.whl";'
        f" {wait}; exit 1"
    )
    look = environment_setup._Fetched.look

    def looked(fetched: environment_setup._Fetched) -> None:
        look(fetched)
        if fetched.begun:
            seen.touch()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environment_setup._Fetched, "look", looked)
        assert environment_setup._run_pip(["/bin/sh", "-c", script], 1) == 1
    assert tried.read_text() == "once\n" * 2
    assert "the download was not completed; trying once more" in capfd.readouterr().err


def test_pip_runs_once_if_it_downloads_nothing(tmp_path: Path) -> None:
    tried = tmp_path / "tried"
    assert environment_setup._run_pip(["/bin/sh", "-c", f"echo once >>{tried}; exit 1"], 1) == 1
    assert tried.read_text() == "once\n"
