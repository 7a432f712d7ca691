"""Packages that are fetched when something first asks for them: Spark, Apache ZooKeeper, the tools for developing.

They are the groups of pyproject.toml's optional dependencies. In an environment that ./kafka-edu made, ./kafka-edu installs them, and says their size
first; in any other the user is told how.
"""

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from kafka_edu.cli.command_table import checkout


class PackageGroupError(Exception):
    """The packages are not here, and could not be fetched; the message says what to do."""


def ensure_group(group: str, *modules: str) -> None:
    """Return when all `modules` of the group can be imported, after installing the group if need be. Raises PackageGroupError."""
    if not _missing(modules):
        return
    root = checkout()
    advice = f"./kafka-edu setup {group}" if root is not None else f"pip install 'kafka-edu[{group}]'"
    if root is None or not (Path(sys.prefix) / ".kafka-edu").is_dir():
        raise PackageGroupError(f"{', '.join(_missing(modules))} is not installed here; get it with: {advice}")
    done = subprocess.run([root / "kafka-edu", "setup", group], env={**os.environ, "KAFKA_EDU_VENV": sys.prefix}, stdout=sys.stderr, check=False)
    importlib.invalidate_caches()
    if done.returncode != 0 or _missing(modules):
        raise PackageGroupError(f"the packages of '{group}' could not be installed; when the cause is mended, start again, or: {advice}")


def _missing(modules: tuple[str, ...]) -> list[str]:
    return [module for module in modules if importlib.util.find_spec(module) is None]
