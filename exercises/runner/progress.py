"""Store a learner's progress in `progress.json`, in the folder that holds all exercises."""

import fcntl
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.files import OsFileSystem

FILE: Final = "progress.json"
FORMAT: Final = 1


class Record(NamedTuple):
    """The learner's progress in one exercise. Times are ISO 8601; an empty time means "not yet"."""

    started: str = ""
    checks: int = 0
    hints: int = 0
    """The number of hints that were shown."""
    passed: str = ""
    """The time of the first complete check that passed. A later failed check does not change it."""
    seed: int = 0
    """The seed from which this learner's own files were made; 0 if there are none."""
    gave_up: str = ""
    """The time when the learner asked for the solution before passing; empty if never."""

    @property
    def state(self) -> str:
        """Return the state in one or two words, for a table."""
        if self.passed:
            return "passed after giving up" if self.gave_up else "passed"
        return "gave up" if self.gave_up else "started" if self.started else ""


class Progress:
    """Reads and changes the file `progress.json`.

    A change is written to a new file, and the new file replaces the old file. So the file is
    complete even if the machine stops during a change. A lock prevents two changes at the same
    time, because `lab watch` and `lab check` may run together.
    """

    def __init__(
        self,
        folder: Path,
        warn: Callable[[str], None] = lambda text: print(text, file=sys.stderr),
    ) -> None:
        """`folder` holds the file. `warn` is called with a line of text if the file is damaged or
        cannot be written.
        """
        self.file = folder / FILE
        self._warn = warn

    def of(self, exercise_id: str) -> Record:
        """Return the record of an exercise, or an empty record if there is none."""
        return self.read().get(exercise_id, Record())

    def read(self) -> dict[str, Record]:
        """Return all records by exercise id. A damaged file is renamed, and a warning is shown."""
        try:
            return parse(self.file.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as error:
            self._warn(
                f"{self.file} cannot be read ({error.strerror}), so your progress is unknown"
            )
            return {}
        except ValueError as error:
            aside = with_time(self.file)
            os.replace(self.file, aside)
            self._warn(
                f"{self.file} is damaged ({error}), so your progress begins again. The old file is"
                f" kept as {aside.name}. Your work in the folders of the exercises is not touched;"
                " check it again and it counts"
            )
            return {}

    def change(self, exercise_id: str, change: Callable[[Record], Record]) -> None:
        """Call `change` with the record of an exercise, and store the record that `change`
        returns.
        """
        try:
            with self._lock():
                records = self.read()
                records[exercise_id] = change(records.get(exercise_id, Record()))
                OsFileSystem().write_atomically(str(self.file), serialize(records))
        except OSError as error:
            self._warn(
                f"{self.file} cannot be written ({error.strerror}), so this is not kept in your"
                " progress. Free some space or choose another folder by --dir, then do it again"
            )

    @contextmanager
    def _lock(self) -> Iterator[None]:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def parse(content: bytes) -> dict[str, Record]:
    """Return the records from the content of progress.json. Raises ValueError with the reason."""
    document = json.loads(content)
    if not isinstance(document, dict) or not isinstance(document.get("exercises"), dict):
        raise ValueError("it has no table of exercises")
    if document.get("format") != FORMAT:
        raise ValueError(f"its format is {document.get('format')!r}, not {FORMAT}")
    records = {}
    for exercise_id, fields in document["exercises"].items():
        known = Record._field_defaults
        if not isinstance(fields, dict) or any(
            name not in known or type(value) is not type(known[name])
            for name, value in fields.items()
        ):
            raise ValueError(f"its record of {exercise_id} is not one")
        records[str(exercise_id)] = Record(**fields)
    return records


def serialize(records: dict[str, Record]) -> bytes:
    """Return the content of progress.json for these records."""
    exercises = {exercise_id: record._asdict() for exercise_id, record in records.items()}
    return (json.dumps({"format": FORMAT, "exercises": exercises}, indent=1) + "\n").encode()


def now() -> str:
    """Return the current time as a text for a record."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


def with_time(path: Path) -> Path:
    """Return a path next to `path` whose name has the current time and does not exist yet."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    name = path.with_name(f"{path.stem}-{stamp}{path.suffix}")
    number = 1
    while name.exists():
        number += 1
        name = path.with_name(f"{path.stem}-{stamp}-{number}{path.suffix}")
    return name
