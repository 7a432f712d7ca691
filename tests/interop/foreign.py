"""Programs of other languages for the tests: built once, in the user's cache, from sources in this folder; skipped where their tools are missing."""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

import pytest

HERE: Final = Path(__file__).parent
BUILD_S: Final = 280


def missing(why: str) -> NoReturn:
    """Skip, since a program is not there; fail, where it must be (KAFKA_EDU_REQUIRE_CLIENTS, in CI)."""
    if os.environ.get("KAFKA_EDU_REQUIRE_CLIENTS"):
        pytest.fail(why)
    pytest.skip(why)


def tool(name: str, debian: str) -> str:
    """The path of a program, or skip."""
    found = shutil.which(name)
    if found is None:
        missing(f"needs {name} (Debian: apt-get install {debian})")
    return found


def built(folder: str, command: Sequence[str], variant: str = "") -> Path:
    """The sources of `folder`, copied into the cache, and built there by `command`; a build, of each variant, is kept until a source changes."""
    sources = sorted(path for path in (HERE / folder).iterdir() if path.is_file())
    digest = hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in sources)).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafka-edu" / f"{folder}{variant}-{digest}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be building it
        if not (cache / "complete").exists():
            for path in sources:
                shutil.copy(path, cache)
            done = subprocess.run(command, cwd=cache, capture_output=True, text=True, timeout=BUILD_S, check=False)
            if done.returncode != 0:
                missing(f"{' '.join(command)} in {cache} ended with {done.returncode}: {done.stderr[-2000:]}")
            (cache / "complete").touch()
    return cache
