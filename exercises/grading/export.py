"""Export the course from a checkout: for students, for a class without a network, for Gradescope.

An export has only the files of the course. Other files in the checkout's folder are left out.
"""

import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from kafka_edu.common.python_process import checkout

from ..runner.manifest import Exercise
from .grade import Grader, Kind, RefusedError

#: The files and folders that every export has.
PROGRAM: Final = (
    "kafka-edu",
    "pyproject.toml",
    "LICENSE",
    "requirements",
    "kafka_edu",
    "exercises",
)
COURSE: Final = (*PROGRAM, "README.md", "docs", "chapters", "tui", "benchmarks")
#: The files and folders that no student gets. The folder `tests` is not exported either, because it
#: contains answers.
SECRET: Final = ("exercises/solutions", "exercises/wrong", "exercises/mutation.toml")
HIDDEN: Final = "hidden_tests.py"
WHEELS: Final = "wheels"
_IGNORED: Final = frozenset({"__pycache__", ".DS_Store", "site", "lab"})


class ExportError(Exception):
    """The course cannot be exported. The message says why, and what to do."""


def _root() -> Path:
    root = checkout()
    if root is not None and not (root / SECRET[0]).is_dir():
        raise ExportError("this is a student's copy already: export from the whole course")
    if root is None:
        raise ExportError("an installed kafka-edu has no course to copy: export from a checkout")
    return root


def files_of(root: Path, tops: tuple[str, ...]) -> Iterator[PurePosixPath]:
    """Yield the files with these names, and the files in folders with these names.

    The paths are relative to `root`.
    """
    for top in tops:
        path = root / top
        if path.is_file():
            yield PurePosixPath(top)
            continue
        for file in sorted(path.rglob("*")):
            relative = file.relative_to(root)
            if (
                file.is_file()
                and not file.is_symlink()
                and not _IGNORED & set(relative.parts)
                and file.suffix != ".pyc"
            ):
                yield PurePosixPath(relative.as_posix())


def is_secret(path: PurePosixPath) -> bool:
    """Return whether a file must not be given to students."""
    return path.name == HIDDEN or any(path.is_relative_to(folder) for folder in SECRET)


def export_student(folder: Path) -> int:
    """Copy the course into a new folder, without solutions, wrong answers and hidden tests.

    Return the number of files. Raises ExportError and OSError.
    """
    root = _root()
    if folder.exists() and any(folder.iterdir()):
        raise ExportError(f"{folder} is not empty: name a new folder")
    count = 0
    for path in files_of(root, COURSE):
        if is_secret(path):
            continue
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / path, target)
        count += 1
    return count


def export_offline(folder: Path, pythons: tuple[str, ...]) -> int:
    """Make a student's copy that can be installed without a network.

    Its folder `wheels` has the packages of main.txt for these Python versions (such as 3.12) and
    for this kind of machine. Return the total size of the wheels in bytes. Raises ExportError and
    OSError.
    """
    export_student(folder)
    pip = pip_command()
    for python in pythons:
        wanted = [f"--python-version={python}"] if python else []
        fetched = subprocess.run(
            [
                *(*pip, "download", "--quiet", "--disable-pip-version-check"),
                *("--require-hashes", "--only-binary=:all:", *wanted),
                *("--dest", str(folder / WHEELS)),
                *("--requirement", str(folder / "requirements" / "main.txt")),
            ],
            stdout=sys.stderr,
            check=False,
        )
        if fetched.returncode != 0:
            raise ExportError(
                f"the packages could not be fetched; the lines above say why. {folder} has the"
                " course without them: remove it and export again"
            )
    return sum(wheel.stat().st_size for wheel in (folder / WHEELS).iterdir())


def pip_command() -> list[str]:
    """Return the words of a command that runs pip on this system. Raises ExportError if there is
    none.
    """
    base = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
    debian = sorted(Path("/usr/share/python-wheels").glob("pip-*.whl"))
    for command in (
        [sys.executable, "-m", "pip"],
        [str(base), "-m", "pip"],
        *([sys.executable, f"{wheel}/pip"] for wheel in debian),
    ):
        try:
            if subprocess.run([*command, "--version"], capture_output=True).returncode == 0:
                return command
        except OSError:
            continue
    raise ExportError(
        "no pip was found to fetch the packages with: install python3-pip or python3-venv"
    )


SETUP: Final = """\
#!/usr/bin/env bash
# Gradescope runs this once, when it builds the container. It unpacks the zip file into
# /autograder/source.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
if python3 -c 'import sys; assert sys.version_info >= (3, 11)' 2>/dev/null; then
  apt-get install -y -qq python3-venv
else
  apt-get install -y -qq python3.11 python3.11-venv
fi
bash kafka-edu setup
chmod 700 .
"""

RUN: Final = """\
#!/usr/bin/env bash
# Gradescope copies this to /autograder, and runs it as root for each submission.
set -euo pipefail
top=$(cd -- "$(dirname -- "${{BASH_SOURCE[0]}}")" && pwd)
chmod 700 "$top/source" "$top/submission" "$top/results"
cd "$top/source"
export PYTHONPATH=$top/source
exec "${{KAFKA_EDU_VENV:-$top/source/.venv}}/bin/python" -m exercises.grading.gradescope \\
  {exercise} {seed} "$top"
"""


def export_gradescope(exercise: Exercise, file: Path, seed: int) -> float:
    """Write an autograder for Gradescope as a zip file, and return the points of the assignment.

    Raises ExportError and OSError.
    """
    root = _root()
    if exercise.material:
        raise ExportError(
            f"the numbers of {exercise.id} are made for each student, and Gradescope does not know"
            " them: use `lab grade` with a roster"
        )
    try:
        possible = Grader(exercise, seed, Kind.TRUSTED).possible
    except RefusedError as error:
        raise ExportError(str(error)) from error
    kept = {path.relative_to(root).as_posix() for path in (exercise.solution, exercise.folder)}
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files_of(root, PROGRAM):
            own = any(path.is_relative_to(one) for one in kept)
            if own or path.name == "__init__.py" or not is_secret(path):
                _add(archive, path.as_posix(), (root / path).read_bytes(), root / path)
        _add(archive, "setup.sh", SETUP.encode())
        run = RUN.format(exercise=exercise.id, seed=seed)
        _add(archive, "run_autograder", run.encode())
    return possible


def _add(archive: zipfile.ZipFile, name: str, content: bytes, like: Path | None = None) -> None:
    """Add a file to the zip archive, executable if the file `like` is.

    Without `like`, the added file is executable.
    """
    entry = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
    mode = 0o755 if like is None or like.stat().st_mode & stat.S_IXUSR else 0o644
    entry.external_attr = (stat.S_IFREG | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)
