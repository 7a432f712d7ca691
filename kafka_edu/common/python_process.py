"""Return this program's name as the user types it, and start further Python processes.

The processes use the same Python and the same packages, and import nothing from the current folder.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

#: The exit code of a program after Ctrl-C has ended it.
EXIT_INTERRUPTED: Final = 130
#: The cluster that a command uses if no name is given.
DEFAULT_CLUSTER: Final = "default"
BROKER_MODULE: Final = "kafka_edu.server.main"
"""The module that a broker's process runs.

It is only a name, so no broker is imported to start one.
"""
_CHECKOUT: Final = Path(__file__).resolve().parents[2]


def checkout() -> Path | None:
    """Return the root folder of the checkout from which this program runs.

    Return None if the program runs from an installed package.
    """
    return (
        _CHECKOUT
        if (_CHECKOUT / "pyproject.toml").is_file() and (_CHECKOUT / "kafka-edu").is_file()
        else None
    )


def program() -> str:
    """Return `./kafka-edu` in a checkout, and `kafka-edu` if the package is installed."""
    return "kafka-edu" if checkout() is None else "./kafka-edu"


def command_line(words: str, cluster: str = DEFAULT_CLUSTER) -> str:
    """Return a command that the user can type: the program's name, `words`, and the cluster's name.

    The name of the default cluster is left out. Every message that names a kafka-edu command uses
    this function.
    """
    return f"{program()} {words}" + ("" if cluster == DEFAULT_CLUSTER else f" --cluster {cluster}")


def as_typed_here(text: str) -> str:
    """Return the text with the program's name in each command replaced by the result of `program`.

    The name is replaced in inline code, and in blocks that are indented by four spaces.
    """
    for before in ("\n    ", "`"):
        text = text.replace(f"{before}kafka-edu ", f"{before}{program()} ")
    return text


def run_to_its_end(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    output_to_stderr: bool = False,
) -> int:
    """Run a program and return its exit code, or 130 after Ctrl-C.

    Ctrl-C at a terminal also reaches the program, which stops by itself and prints its own line.
    This process waits until the program has ended, because the program must stop everything that it
    has started.
    """
    interrupted = False
    with subprocess.Popen(
        command, cwd=cwd, env=env, stdout=sys.stderr if output_to_stderr else None
    ) as process:
        while True:
            try:
                code = process.wait()
                break
            except KeyboardInterrupt:
                interrupted = True
    return EXIT_INTERRUPTED if interrupted else code


def python_command(module: str, *arguments: str) -> list[str]:
    """Return the command `python -P -m MODULE ARGUMENT …`.

    With -P, Python imports nothing from the current folder, which may contain another package named
    `kafka` or `click`.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def python_environment() -> dict[str, str]:
    """Return the environment variables for a Python process of this program.

    In a checkout, PYTHONPATH names the checkout. This process itself may have found the checkout
    without PYTHONPATH, as pytest does.
    """
    environment = dict(os.environ)
    root = checkout()
    if root is not None:
        others = [
            path
            for path in environment.get("PYTHONPATH", "").split(os.pathsep)
            if path and path != str(root)
        ]
        environment["PYTHONPATH"] = os.pathsep.join([str(root), *others])
    return environment
