"""Save where the learner stopped in a script, and which questions were answered wrong.

The files are in the state folder: one place for each script and cluster, and one list of missed
questions for each script.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from kafka_edu.common.user_files import StateFile, state_folder
from kafka_edu.instruments.presenter.presentation import Missed, Phase, SavedPlace


class KeepsPlace(Protocol):
    """Where the learner's place in a script is kept."""

    def save(self, place: SavedPlace, /) -> None: ...

    def forget(self) -> None: ...


def place_of(fields: Mapping[str, Any]) -> SavedPlace:
    """Return a place that was written as JSON. If a field is missing or wrong, this raises
    ValueError, KeyError, TypeError or AttributeError.
    """
    return SavedPlace(
        int(fields["step"]),
        Phase(fields["phase"]).value,
        {str(name): str(value) for name, value in fields["names"].items()},
        {int(step): int(choice) for step, choice in fields["choices"].items()},
        tuple(map(bool, fields["seen"])),
        {int(step): int(moment) for step, moment in fields["moments"].items()},
        int(fields["since_us"]),
        {int(step): int(sure) for step, sure in fields.get("sure", {}).items()},
        bool(fields.get("acts_wait", False)),
    )


class Bookmark:
    """The learner's saved place in one script, for one cluster or recording."""

    def __init__(self, script: Path, digest: str, stage: str, home: Path | None = None) -> None:
        """Use the file for this script. `stage` is the name of the cluster or the recording.

        `digest` is the script file's hash. If the script's text has changed, the saved place is not
        used.
        """
        key = hashlib.sha256(f"{script.resolve()}\0{stage}".encode()).hexdigest()[:16]
        name = f"{script.stem}-{key}.json"
        self._file = StateFile((home or state_folder()) / "presenter" / name)
        self._digest = digest

    @property
    def path(self) -> Path:
        return self._file.path

    def load(self) -> SavedPlace | None:
        """Return the saved place, or None if no place is saved for this script.

        A broken file is ignored.
        """

        def read(fields: Mapping[str, Any]) -> SavedPlace | None:
            return place_of(fields) if fields["digest"] == self._digest else None

        return self._file.load(read)

    def save(self, place: SavedPlace) -> None:
        """Write the place. If the folder cannot be written, only the saved place is lost."""
        self._file.save({"digest": self._digest, **place._asdict()})

    def forget(self) -> None:
        self._file.forget()


class MissedBefore:
    """The questions that the learner answered wrong in the last complete run of one script."""

    def __init__(self, script: Path, home: Path | None = None) -> None:
        key = hashlib.sha256(f"{script.resolve()}".encode()).hexdigest()[:16]
        self._file = StateFile((home or state_folder()) / "presenter" / f"missed-{key}.json")

    @property
    def path(self) -> Path:
        return self._file.path

    def load(self) -> list[Missed]:
        """Return the missed questions.

        Return an empty list if none are saved or the file is broken.
        """

        def read(fields: Mapping[str, Any]) -> list[Missed]:
            return [
                Missed(int(step), str(question), str(right), *map(int, sure))
                for step, question, right, *sure in fields["missed"]
            ]

        return self._file.load(read) or []

    def save(self, missed: Sequence[Missed]) -> None:
        """Save these questions instead of the earlier ones. Do nothing if the folder is
        read-only.
        """
        self._file.save({"missed": [list(each) for each in missed]})
