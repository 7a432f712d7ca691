"""A program that runs next to the cluster of an exercise of the kind *operate*, such as a shop.

It is a process of its own, writes notes about what it sees into the cluster's folder, and ends with
the cluster.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from signal import SIGTERM
from typing import Any, Final, NamedTuple

from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.supervisor.cluster_folder import ClusterFolder

OPEN_S: Final = 6 * 3600.0
"""After this time in s a program ends, so that a forgotten cluster does not fill the disk."""


class LabProgram(NamedTuple):
    """A program, as those see it who start, watch and end it."""

    module: str
    """The module that its process runs."""
    notes: str
    """The name of the file with its notes."""

    def start(self, folder: ClusterFolder, *words: str) -> None:
        """Start the program. It gets the cluster's folder, the supervisor's process id and
        `words`.
        """
        supervisor = json.loads(folder.action_address.read_text(encoding="utf-8"))["pid"]
        subprocess.Popen(
            python_command(self.module, str(folder.path), str(supervisor), *words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=python_environment(),
            start_new_session=True,
        )

    def read(self, folder: ClusterFolder) -> dict[str, Any] | None:
        """Return the program's notes. None: it has not written any yet."""
        try:
            found: dict[str, Any] = json.loads(
                (folder.path / self.notes).read_text(encoding="utf-8")
            )
        except FileNotFoundError:
            return None
        return found

    def is_it(self, pid: int) -> bool:
        """Return whether the process with this id is such a program. Another one may have got the
        id after its end.
        """
        shown = subprocess.run(
            ["ps", "-ww", "-o", "command=", "-p", str(pid)],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        return self.module in shown

    def end(self, pid: int) -> None:
        """End the program, and wait for it if it is a child of this process."""
        if self.is_it(pid):
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, SIGTERM)
                os.waitpid(pid, 0)


def write_notes(file: Path, notes: Mapping[str, Any]) -> None:
    """Replace the notes' file as a whole, so that no reader sees half of it."""
    new = file.with_suffix(".new")
    with suppress(FileNotFoundError):  # the cluster's folder has just gone
        new.write_text(json.dumps(notes, indent=1) + "\n", encoding="utf-8")
        new.replace(file)


def while_cluster_is_up(folder: Path, supervisor: int) -> Callable[[], bool]:
    """Return a function that is true until the cluster's supervisor has ended, or OPEN_S has
    passed.
    """
    ends = time.monotonic() + OPEN_S

    def is_up() -> bool:
        try:
            os.kill(supervisor, 0)
        except ProcessLookupError:
            return False
        return folder.is_dir() and time.monotonic() < ends

    return is_up


def settings_of(text: str) -> dict[str, str]:
    """Return the settings in the text of a properties file."""
    lines = (line.strip() for line in text.splitlines())
    pairs = [line.partition("=") for line in lines if line and not line.startswith("#")]
    return {key.strip(): value.strip() for key, _, value in pairs}
