"""The Python modules of the page: our own, and the pure Python packages that the dashboard needs.

Native packages are left out. `page/instead` has modules in place of two native packages. Code that
needs any other native package (real sockets, processes, Spark) is not part of the page.
"""

import gzip
import hashlib
import importlib.metadata
import io
import json
import shutil
import subprocess
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.cli.docs_site.live.npm_packages import IncludedPackage, LiveError, program
from kafka_edu.common.python_process import command_line
from kafka_edu.common.user_files import state_folder

OURS: Final = ("kafka_edu", "tui", "page", "chapters")
_OURS_LEFT_OUT: Final = (
    "*/__pycache__/*",
    "*/py.typed",
    "chapters/*",
    "kafka_edu/cli/*",
    "kafka_edu/clients/web_log/*",
    "kafka_edu/instruments/quiz/*",
    "kafka_edu/spark/*",
    "kafka_edu/supervisor/*",
    "kafka_edu/tools/*",
    "kafka_edu/log/cleaner/batch_filter.py",  # compaction needs numpy
    "kafka_edu/log/cleaner/cleaner.py",
    "kafka_edu/log/cleaner/offset_map.py",
    "kafka_edu/log/cleaner/record_rows.py",
    "page/npm/*",
    "page/web/*",
    "tui/draw/*",
    "tui/presenter/cast.py",
    "tui/presenter/command.py",
    "tui/presenter/plain_presenter.py",
    "tui/presenter/run.py",
)
_OURS_KEPT: Final = (
    "chapters/__init__.py",
    "chapters/simulated.py",
    "kafka_edu/cli/__init__.py",
    "kafka_edu/cli/sim/__init__.py",
    "kafka_edu/cli/sim/watched_stage.py",
    "kafka_edu/spark/__init__.py",  # a check of an exercise imports these, and runs no Spark
    "kafka_edu/spark/driver_client.py",
    "kafka_edu/spark/driver_keeper.py",
    "kafka_edu/spark/driver_service.py",
    "kafka_edu/spark/notices.py",
    "kafka_edu/spark/start_limit.py",
    "kafka_edu/supervisor/__init__.py",
    "kafka_edu/supervisor/act_table.py",
    "kafka_edu/supervisor/action_client.py",
    "kafka_edu/supervisor/cluster_folder.py",
)
_OF_EXERCISES: Final = ("click", "iniconfig", "packaging", "pluggy", "pytest")
"""Packages that only the page of exercises needs."""
PACKAGES: Final = (
    *_OF_EXERCISES,
    "linkify-it-py",
    "markdown-it-py",
    "mdit-py-plugins",
    "mdurl",
    "platformdirs",
    "pygments",
    "rich",
    "textual",
    "typing-extensions",
)
_PACKAGES_LEFT_OUT: Final = (
    "../*",  # programs
    "*.dist-info/*",
    "*/__pycache__/*",
    "*.pyi",
    "*/py.typed",
    "textual/demo/*",
    "textual/tree-sitter/*",
    "textual/drivers/w*",
    "pygments/lexers/*",
    "pygments/styles/[!_dm]*",
    "pygments/formatters/[!_]*",
    "rich/_unicode_data/unicode[!1]*",
)
_PACKAGES_KEPT: Final = (
    "pygments/formatters/terminal.py",
    "pygments/lexers/__init__.py",
    "pygments/lexers/_mapping.py",
    "pygments/lexers/diff.py",
    "pygments/lexers/python.py",
)
_FORMAT: Final = 2
"""The version of the archive's form. It is part of the hash of a kept archive."""
_DATE: Final = (2000, 1, 1, 0, 0, 0)
_PREPARE_S: Final = 900
_ARCHIVE: Final = "python.zip"
_EXERCISES: Final = "exercises.zip"
_SNAPSHOT: Final = "snapshot.bin"
_KEPT: Final = (_ARCHIVE, _EXERCISES, _SNAPSHOT)


class Packed(NamedTuple):
    """The Python side of the page, as it is loaded."""

    archive: bytes
    """A zip archive of the files that Python may read later, and of modules to import later."""
    exercises: bytes
    """The same for the page of exercises, in addition."""
    snapshot: bytes
    """The memory of Python after the imports, packed by gzip."""


def exercise_files(root: Path) -> dict[str, Path]:
    """Return the exercises of the page, without solutions: name in the archive → file."""
    folder = root / "exercises"
    rows = tomllib.loads((folder / "manifest.toml").read_text(encoding="utf-8"))["exercise"]
    ours = [folder / row["folder"] for row in rows if row.get("page")]
    chapters = {path.parent for path in ours}
    found = [
        *(folder / name for name in ("__init__.py", "conftest.py", "manifest.toml", "show.py")),
        *(file for part in ours for file in part.iterdir() if file.name != "hidden_tests.py"),
        *(file for chapter in chapters for file in chapter.glob("*.py")),
        *(folder / "runner").glob("*.py"),
    ]
    return {path.relative_to(root).as_posix(): path for path in sorted(found) if path.is_file()}


def our_files(root: Path) -> dict[str, Path]:
    """Return our modules, and the files that these modules read: name in the archive → file."""
    return exercise_files(root) | {
        name: path
        for folder in OURS
        for path in sorted((root / folder).rglob("*"))
        if path.is_file()
        if _is_in(name := path.relative_to(root).as_posix(), _OURS_LEFT_OUT, _OURS_KEPT)
    }


def _distribution(name: str) -> importlib.metadata.Distribution:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        raise LiveError(
            f"the package {name} is not installed, and the page needs it."
            f" Run {command_line('setup')}."
        ) from None


def _files_of(name: str) -> Iterator[tuple[str, Path]]:
    for file in _distribution(name).files or ():
        inside = file.as_posix()
        if _is_in(inside, _PACKAGES_LEFT_OUT, _PACKAGES_KEPT):
            yield inside, Path(str(file.locate()))


def package_files() -> dict[str, Path]:
    """Return the modules of other projects: name in the archive → file. Raises LiveError if a
    package is missing.
    """
    return dict(sorted(pair for name in PACKAGES for pair in _files_of(name)))


def packages() -> list[IncludedPackage]:
    """Return the packages in the archive."""
    found = []
    for name in PACKAGES:
        about = _distribution(name)
        texts = tuple(
            Path(str(file.locate()))
            for file in about.files or ()
            if ".dist-info/" in file.as_posix() and file.name.upper().startswith("LICENSE")
        )
        kept = sum(path.stat().st_size for _, path in _files_of(name))
        found.append(IncludedPackage(name, about.version, _licence(about), kept, "PyPI", texts))
    return found


def _licence(about: importlib.metadata.Distribution) -> str:
    """Return the name of a package's licence in one line. Some packages name their licence only in
    a classifier.
    """
    for field in ("License-Expression", "License"):
        if field in about.metadata:
            return str(about.metadata[field]).splitlines()[0]
    for classifier in about.metadata.get_all("Classifier") or ():
        if classifier.startswith("License ::"):
            return str(classifier).rsplit(" :: ", 1)[1]
    return "see its text"


def packed(files: Mapping[str, Path], modules: Path, script: Path) -> Packed:
    """Return the archive with compiled modules, and the memory of a Python that has imported them.

    The page's Python makes the archive and the memory, under Node.js. Both are kept in the state
    folder until a file changes. Raises LiveError if a module cannot be compiled or imported.
    """
    digest = hashlib.sha256(f"{_FORMAT} {modules.parent.name}".encode() + script.read_bytes())
    for name, path in sorted(files.items()):
        data = path.read_bytes()
        digest.update(f"{name} {len(data)}\n".encode() + data)
    kept = state_folder() / "live-page" / f"prepared-{digest.hexdigest()[:12]}"
    try:
        return Packed(*((kept / name).read_bytes() for name in _KEPT))
    except FileNotFoundError:  # nothing is kept, or another build has just removed it
        made = _prepared(files, modules, script)
    kept.parent.mkdir(parents=True, exist_ok=True)
    for old in kept.parent.glob("prepared-*"):
        shutil.rmtree(old, ignore_errors=True)
    with tempfile.TemporaryDirectory(
        prefix="new-", dir=kept.parent, ignore_cleanup_errors=True
    ) as new:
        aside = Path(new, kept.name)
        aside.mkdir()
        for name, content in zip(_KEPT, made, strict=True):
            (aside / name).write_bytes(content)
        with suppress(OSError):  # another build has kept the same
            aside.replace(kept)
    return made


def _prepared(files: Mapping[str, Path], modules: Path, script: Path) -> Packed:
    node = program("node")
    with tempfile.TemporaryDirectory(prefix="live-page-") as work:
        tree, snapshot = Path(work, "app"), Path(work, _SNAPSHOT)
        for name, path in files.items():
            target = tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
        done = subprocess.run(
            [node, str(script), str(modules), str(tree), str(snapshot)],
            capture_output=True,
            text=True,
            check=False,
            timeout=_PREPARE_S,
        )
        if done.returncode != 0:
            lines = (done.stdout + done.stderr).strip().splitlines()
            raise LiveError(f"the page's modules cannot be compiled:\n{chr(10).join(lines[-12:])}")
        imported = set(json.loads(done.stdout.splitlines()[-1]))
        later = [
            path
            for path in sorted(tree.rglob("*"))
            if path.is_file() and source_of(path.relative_to(tree).as_posix()) not in imported
        ]
        apart = {name for package in _OF_EXERCISES for name, _ in _files_of(package)}
        tops = {"exercises", *(name.partition("/")[0] for name in apart)}
        of_exercises = [path for path in later if path.relative_to(tree).parts[0] in tops]
        return Packed(
            _zipped(tree, [path for path in later if path not in set(of_exercises)]),
            _zipped(tree, of_exercises),
            gzip.compress(snapshot.read_bytes(), 9, mtime=0),
        )


def _zipped(tree: Path, paths: list[Path]) -> bytes:
    """Return a zip archive of these files below the folder `tree`."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in paths:
            entry = zipfile.ZipInfo(path.relative_to(tree).as_posix(), _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return made.getvalue()


def source_of(name: str) -> str:
    """Return the name of a module's source file. `name` may be the name of the compiled file."""
    folder, compiled, file = name.rpartition("__pycache__/")
    return f"{folder}{file.partition('.')[0]}.py" if compiled else name


def _is_in(name: str, left_out: tuple[str, ...], kept: tuple[str, ...]) -> bool:
    """Return whether a file goes into the archive: `left_out` has patterns of names, and `kept`
    names the exceptions.
    """
    if name.endswith(".pyc"):
        return False
    return name in kept or not any(fnmatch(name, pattern) for pattern in left_out)
