"""A program that uses the cluster of an exercise of the kind *operate*, for example a shop.

The program is a separate process. It writes notes about what it sees into the cluster's folder, and
ends when the cluster ends.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from signal import SIGTERM
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.supervisor.cluster_folder import ClusterFolder

OPEN_S: Final = 6 * 3600.0
"""After this time in s a program ends, so that a forgotten cluster does not fill the disk."""
LOOK_EVERY_S: Final = 0.2
SILENT_S: Final = 120.0
"""A program without new notes for this time (s) hangs. A program that works writes notes
several times a second.
"""


class Notes(Protocol):
    """The notes of a program."""

    @property
    def pid(self) -> int:
        """The id of the program's process."""
        ...


N = TypeVar("N", bound=Notes)


class LabProgram(NamedTuple):
    """A program, from the view of the code that starts, watches and ends it."""

    module: str
    """The module that its process runs."""
    notes: str
    """The name of the file with its notes."""

    def start(self, folder: ClusterFolder, *words: str) -> int:
        """Start the program, and return its process id. The program gets the cluster's folder, the
        supervisor's process id and `words`.
        """
        supervisor = json.loads(folder.action_address.read_text(encoding="utf-8"))["pid"]
        process = subprocess.Popen(
            python_command(self.module, str(folder.path), str(supervisor), *words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=python_environment(),
            start_new_session=True,
        )
        return process.pid

    def read(self, folder: ClusterFolder) -> dict[str, Any] | None:
        """Return the program's notes, or None if the program has not written any yet."""
        try:
            found: dict[str, Any] = json.loads(
                (folder.path / self.notes).read_text(encoding="utf-8")
            )
        except FileNotFoundError:
            return None
        return found

    def is_it(self, pid: int) -> bool:
        """Return whether the process with this id runs the program. After the program's end, the
        system may give the same id to a different process.
        """
        shown = subprocess.run(
            ["ps", "-ww", "-o", "command=", "-p", str(pid)],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        return self.module in shown

    def watched(self, look: Callable[[], N | None]) -> Iterator[N]:
        """Yield the notes that `look` reads, again and again. End when there are none, or when the
        program has ended or hangs.
        """
        last: N | None = None
        changed_s = time.monotonic()
        while (now := look()) is not None:
            yield now
            if now != last:
                last, changed_s = now, time.monotonic()
            elif not self.is_it(now.pid) or time.monotonic() - changed_s > SILENT_S:
                return
            time.sleep(LOOK_EVERY_S)

    def end(self, folder: ClusterFolder) -> None:
        """End the program that has written notes into the cluster's folder. If the program is a
        child of this process, wait until it has ended.
        """
        notes = self.read(folder)
        if notes is not None and self.is_it(pid := notes["pid"]):
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, SIGTERM)
                os.waitpid(pid, 0)


def write_notes(file: Path, notes: Mapping[str, Any]) -> None:
    """Replace the notes' file in one step, so that no reader sees a part of it."""
    new = file.with_suffix(".new")
    with suppress(FileNotFoundError):  # the cluster's folder has just gone
        new.write_text(json.dumps(notes, indent=1) + "\n", encoding="utf-8")
        new.replace(file)


def while_cluster_is_up(folder: Path, supervisor: int) -> Callable[[], bool]:
    """Return a function that returns True until the cluster's supervisor has ended, or OPEN_S
    seconds have passed.

    When it returns False, a program ends by `os._exit`, and closes none of its clients: a producer
    that closes waits for brokers, which may be gone.
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


def set_setting(file: Path, key: str, value: str) -> None:
    """Write a setting to a properties file, as an operator does with an editor."""
    lines = file.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if line.partition("=")[0].strip() != key]
    file.write_text("\n".join([*kept, f"{key}={value}"]) + "\n", encoding="utf-8")


class SettingsFile:
    """The settings of a program, in a file that the learner edits."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.refused = ""
        """Why the program cannot use the newest settings. Empty if it uses them."""
        self._unreadable = ""
        self._text: str | None = None

    @property
    def complaint(self) -> str:
        """Why the newest settings are not in use. Empty if they are in use."""
        return self._unreadable or self.refused

    def changed(self) -> dict[str, str] | None:
        """Return the settings if the file has changed since the last call, else None."""
        try:
            text = self.file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            self._unreadable = f"{self.file.name} cannot be read: {error}"
            return None
        self._unreadable = ""
        if text == self._text:
            return None
        self._text = text
        self.refused = ""
        return settings_of(text)
