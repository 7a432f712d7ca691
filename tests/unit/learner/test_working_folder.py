"""The folder of a killed owner is removed later. The folder of a living owner stays."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from kafka_edu.common.python_process import python_environment
from kafka_edu.learner.working_folder import PREFIX, YOUNG_S, WorkingFolder, remove_left_behind

OWNER = """
import sys
from pathlib import Path
from kafka_edu.learner.working_folder import WorkingFolder
print(WorkingFolder(Path(sys.argv[1])).path, flush=True)
sys.stdin.read()
"""


def owner(base: Path) -> "tuple[subprocess.Popen[str], Path]":
    """Start a process that owns a folder. Return both."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(base)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=python_environment(),
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()


def make_old(*folders: Path) -> None:
    for folder in folders:
        then = folder.stat().st_mtime - 2 * YOUNG_S
        os.utime(folder, (then, then))


def test_the_folder_of_a_killed_owner_is_removed_and_that_of_a_living_one_is_not(
    tmp_path: Path,
) -> None:
    killed, left = owner(tmp_path)
    alive, held = owner(tmp_path)
    (left / "deep").mkdir()
    (left / "deep" / "file").write_text("of the learner")
    end(killed)
    assert killed.returncode == -signal.SIGKILL
    make_old(left, held)
    young = tmp_path / f"{PREFIX}young"
    young.mkdir()
    other = tmp_path / "other"
    other.mkdir()
    make_old(other)

    remove_left_behind.cache_clear()
    mine = WorkingFolder(tmp_path)
    assert {*tmp_path.iterdir()} == {held, young, other, mine.path}
    mine.remove()
    assert not mine.path.exists()
    end(alive)


def test_a_link_in_place_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("of the user")
    base = tmp_path / "base"
    base.mkdir()
    (base / f"{PREFIX}x").symlink_to(precious)
    make_old(precious)
    remove_left_behind.cache_clear()
    WorkingFolder(base).remove()
    assert (precious / "file").exists()
