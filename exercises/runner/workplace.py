"""The folder `lab/<id>` with a learner's file for one exercise, and the learner's progress."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from .manifest import Exercise
from .material import material_of, new_seed
from .progress import Progress, Record, now, with_time

FOLDER: Final = "lab"


class Workplace:
    """The learner's folder for one exercise."""

    def __init__(self, exercise: Exercise, root: Path | None = None) -> None:
        """`root` is the folder that holds a folder for each exercise. By default it is ./lab."""
        self.exercise = exercise
        root = root if root is not None else Path.cwd() / FOLDER
        self.folder = root / exercise.id
        self.progress = Progress(root)

    @property
    def file(self) -> Path:
        return self.folder / self.exercise.file

    @property
    def started(self) -> bool:
        return self.file.is_file()

    @property
    def unedited(self) -> bool:
        """Whether the learner's file is still identical to the starter."""
        return self.file.read_bytes() == self.exercise.starter.read_bytes()

    @property
    def record(self) -> Record:
        """The learner's progress in this exercise."""
        return self.progress.of(self.exercise.id)

    def start(self) -> bool:
        """Put the starter into the folder. Return True if that was done.

        If the learner has a file already, change nothing and return False.
        """
        if self.started:
            return False
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(self.exercise.starter.read_bytes())
        (self.folder / "README.md").write_text(self.exercise.task(), encoding="utf-8")
        self._change(lambda record: record._replace(started=record.started or now()))
        self.make_material()
        return True

    def make_material(self) -> list[Path]:
        """Make the learner's own files, with numbers from a new seed. Return the files."""
        if not self.exercise.material:
            return []
        seed = new_seed()
        made = []
        for name, content in material_of(self.exercise).make(seed).items():
            made.append(self.folder / name)
            made[-1].write_text(content, encoding="utf-8")
        self._change(lambda record: record._replace(seed=seed))
        return made

    def reset(self) -> Path | None:
        """Replace the learner's file by the starter. Return the copy of the replaced file.

        The copy has the time in its name. Return None if there was nothing to copy.
        """
        copy = None
        if self.started and not self.unedited:
            copy = self.file.rename(with_time(self.file))
        self.file.unlink(missing_ok=True)
        self.start()
        return copy

    def next_hint(self) -> tuple[int, str] | None:
        """Return the next hint and its number (from 1), or None if all hints have been shown."""
        given = self.record.hints
        hints = self.exercise.hints()
        if given >= len(hints):
            return None
        self._change(lambda record: record._replace(hints=given + 1))
        return given + 1, hints[given]

    def remember(self, passed: bool) -> None:
        """Count a check. If it is the first check that passed, store the current time."""
        self._change(
            lambda record: record._replace(
                checks=record.checks + 1, passed=record.passed or (now() if passed else "")
            )
        )

    def give_up(self) -> None:
        """Record that the learner asked for the solution before passing."""
        self._change(lambda record: record._replace(gave_up=record.gave_up or now()))

    def _change(self, change: Callable[[Record], Record]) -> None:
        self.progress.change(self.exercise.id, change)
