"""Name this program as the reader calls it, and start Python processes of its own.

They use the same Python and the same packages, and import nothing from the current folder.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

#: The exit code of a program that Ctrl-C has stopped.
EXIT_INTERRUPTED: Final = 130
#: The cluster that a command means when it names none.
DEFAULT_CLUSTER: Final = "default"
BROKER_MODULE: Final = "kafka_edu.server.main"
"""The module that a broker's process runs, named here so that starting one imports no broker."""
_CHECKOUT: Final = Path(__file__).resolve().parents[2]


def checkout() -> Path | None:
    """Return the folder of the checkout that runs, or None if the program is installed."""
    return (
        _CHECKOUT
        if (_CHECKOUT / "pyproject.toml").is_file() and (_CHECKOUT / "kafka-edu").is_file()
        else None
    )


def program() -> str:
    """Return `./kafka-edu` in a checkout, and `kafka-edu` where the package is installed."""
    return "kafka-edu" if checkout() is None else "./kafka-edu"


def command_line(words: str, cluster: str = DEFAULT_CLUSTER) -> str:
    """Return the command that a reader can type here: the program's name and `words`, and the
    cluster's name, unless it is the default one.

    Every message that names a command of ours uses this function.
    """
    return f"{program()} {words}" + ("" if cluster == DEFAULT_CLUSTER else f" --cluster {cluster}")


def as_typed_here(text: str) -> str:
    """Return a text with the program's name as `program` has it, in code within a line and in
    blocks that are indented by four.
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
    """Run a program and return its exit code, or 130 after a Ctrl-C.

    Ctrl-C at a terminal reaches the program too. It stops by itself and prints its own line. This
    process waits for it, because the program must stop everything that it has started.
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
    """Return `python -m MODULE ARGUMENT …`. With -P Python imports nothing from the current folder,
    which may hold a `kafka` or a `click` of its own.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def python_environment() -> dict[str, str]:
    """Return the environment for such a process. In a checkout PYTHONPATH names the checkout,
    however this process found it (pytest has its own way).
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
