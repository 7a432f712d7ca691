"""Fetch the live page's JavaScript packages with npm, in the versions of the lock file."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.user_files import state_folder

_LOCKED: Final = ("package.json", "package-lock.json")
_DONE: Final = "complete"
_TIMEOUT_S: Final = 600


class LiveError(Exception):
    """The page cannot be built. The message says why, and what the user can do."""


class IncludedPackage(NamedTuple):
    """A package of another project in the live page, as the page of licences lists it."""

    name: str
    version: str
    licence: str
    bytes: int
    source: str
    """npm or PyPI."""
    texts: tuple[Path, ...]
    """The files with its licences."""


class NpmPackage(NamedTuple):
    """A package of npm that is part of the page."""

    name: str
    version: str
    licence: str
    folder: Path


def program(name: str) -> str:
    """Return the path of a program of Node.js. Raises LiveError if it is not installed."""
    found = shutil.which(name)
    if found is None:
        raise LiveError(
            f"the page needs {name}, which is not installed. Install Node.js 20 or newer with npm,"
            " and build again."
        )
    return found


def fetched(locked: Path, *, dev: bool = False) -> Path:
    """Return the folder node_modules with the packages of the lock file in the folder `locked`.

    The packages are fetched once, and stay in the state folder. With `dev`, the folder also has the
    packages that drive a browser in tests. Raises LiveError if the packages cannot be fetched.
    """
    npm = program("npm")
    digest = hashlib.sha256(b"".join((locked / name).read_bytes() for name in _LOCKED))
    folder = state_folder() / "live-page" / f"npm{'-dev' * dev}-{digest.hexdigest()[:12]}"
    modules = folder / "node_modules"
    if (folder / _DONE).exists():
        return modules
    folder.mkdir(parents=True, exist_ok=True)
    for name in _LOCKED:
        shutil.copyfile(locked / name, folder / name)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    if not dev:
        command.append("--omit=dev")
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise LiveError(
            f"npm has not ended after {_TIMEOUT_S} s. Is there a network? Build again."
        ) from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise LiveError(
            f"npm cannot fetch the page's packages: {lines[0] if lines else 'it says nothing'}."
            " Build again when the network is there."
        )
    (folder / _DONE).touch()
    return modules


def packages(locked: Path, modules: Path) -> list[NpmPackage]:
    """Return the packages that the page's package.json names. Packages on which these packages
    depend are left out, because they are needed only under Node.js.
    """
    wanted = json.loads((locked / "package.json").read_text(encoding="utf-8"))["dependencies"]
    found = []
    for name in sorted(wanted):
        about = json.loads((modules / name / "package.json").read_text(encoding="utf-8"))
        found.append(NpmPackage(name, about["version"], about["license"], modules / name))
    return found
