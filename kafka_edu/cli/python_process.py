"""How this program starts Python processes of its own: the same Python, the same packages, nothing from the folder it happens to stand in."""

import os
import sys

from kafka_edu.cli.command_table import checkout


def python_command(module: str, *arguments: str) -> list[str]:
    """`python -m MODULE ARGUMENT …`. With -P the current folder is no place to import from: it may hold a `kafka` or a `click` of its own."""
    return [sys.executable, "-P", "-m", module, *arguments]


def python_environment() -> dict[str, str]:
    """The environment to start it in: in a checkout, PYTHONPATH must lead to it, however this process found it (pytest has its own way)."""
    environment = dict(os.environ)
    root = checkout()
    if root is not None:
        others = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path and path != str(root)]
        environment["PYTHONPATH"] = os.pathsep.join([str(root), *others])
    return environment
