"""The one store of a learner's progress: `progress.json` in the folder that holds the exercises."""

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
    """How far a learner is with one exercise. The times are ISO 8601; empty means not yet."""

    started: str = ""
    checks: int = 0
    hints: int = 0
    """How many hints were given."""
    passed: str = ""
    """The first time that a whole check passed. A later check that fails does not undo it."""
    seed: int = 0
    """The seed of the files that were made for this learner; 0 if none were."""
    gave_up: str = ""
    """When the learner asked for the solution before passing."""

    @property
    def state(self) -> str:
        """Return one word or two for a table."""
        if self.passed:
            return "passed after giving up" if self.gave_up else "passed"
        return "gave up" if self.gave_up else "started" if self.started else ""


class Progress:
    """Reads and changes the store.

    A change is written to a new file that then takes the place of the old one, under a lock: `lab
    watch` and `lab check` may run at the same time, and the machine may stop at any moment.
    """

    def __init__(
        self,
        folder: Path,
        warn: Callable[[str], None] = lambda text: print(text, file=sys.stderr),
    ) -> None:
        """`warn` gets a line for the reader when the store is damaged or cannot be written."""
        self.file = folder / FILE
        self._warn = warn

    def of(self, exercise_id: str) -> Record:
        """Return the record of an exercise, an empty one if there is none."""
        return self.read().get(exercise_id, Record())

    def read(self) -> dict[str, Record]:
        """Return all records. A file that cannot be understood is put aside, and said so."""
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
        """Put what `change` makes of the record in its place."""
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
    """Return the records of a store. Raises ValueError, which says what is wrong with it."""
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
    """Return the content of a store."""
    exercises = {exercise_id: record._asdict() for exercise_id, record in records.items()}
    return (json.dumps({"format": FORMAT, "exercises": exercises}, indent=1) + "\n").encode()


def now() -> str:
    """Return the present time for a record."""
    return datetime.now().astimezone().isoformat(timespec="seconds")


def with_time(path: Path) -> Path:
    """Return a name next to `path` that has the present time in it and is not taken."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    name = path.with_name(f"{path.stem}-{stamp}{path.suffix}")
    number = 1
    while name.exists():
        number += 1
        name = path.with_name(f"{path.stem}-{stamp}-{number}{path.suffix}")
    return name
