"""Packages that are fetched when something first asks for them: Spark, Apache ZooKeeper, the tools
for developing.

They are the groups of pyproject.toml's optional dependencies. In an environment that ./kafka-edu
made, ./kafka-edu installs them, and says their size first; in any other the user is told how.
"""

import importlib
import importlib.util
import os
import sys
from pathlib import Path

from kafka_edu.common.python_process import EXIT_INTERRUPTED, checkout, run_to_its_end


class PackageGroupError(Exception):
    """The packages are not here, and could not be fetched; the message says what to do."""


def ensure_group(group: str, *modules: str) -> None:
    """Return when all `modules` of the group can be imported, after installing the group if need
    be. Raises PackageGroupError.
    """
    if not _missing(modules):
        return
    root = checkout()
    advice = (
        f"./kafka-edu setup {group}" if root is not None else f"pip install 'kafka-edu[{group}]'"
    )
    if root is None or not (Path(sys.prefix) / ".kafka-edu").is_dir():
        raise PackageGroupError(
            f"{', '.join(_missing(modules))} is not installed here; get it with: {advice}"
        )
    command = [str(root / "kafka-edu"), "setup", group]
    code = run_to_its_end(
        command, env={**os.environ, "KAFKA_EDU_VENV": sys.prefix}, output_to_stderr=True
    )
    if code == EXIT_INTERRUPTED:
        raise SystemExit(code)  # the script has said so
    importlib.invalidate_caches()
    if code != 0 or _missing(modules):
        raise PackageGroupError(
            f"the packages of '{group}' could not be installed; when the cause is mended, start"
            f" again, or: {advice}"
        )


def _missing(modules: tuple[str, ...]) -> list[str]:
    return [module for module in modules if importlib.util.find_spec(module) is None]
