"""Where a learner works: a folder `lab/<id>` with the learner's file, next to the store of progress
of all exercises.
"""

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
        """`root` is the folder that holds one folder for each exercise; `lab` here if not given."""
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
        """Whether the file still is the starter, byte for byte."""
        return self.file.read_bytes() == self.exercise.starter.read_bytes()

    @property
    def record(self) -> Record:
        """How far the learner is."""
        return self.progress.of(self.exercise.id)

    def start(self) -> bool:
        """Put the starter there; returns False, and changes nothing, if the learner has a file
        already.
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
        """Make the files that are this learner's own, with other numbers than before, and return
        them.
        """
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
        """Begin again from the starter. Returns the copy of the learner's file, which has the time
        in its name, or None if there was nothing to keep.
        """
        copy = None
        if self.started and not self.unedited:
            copy = self.file.rename(with_time(self.file))
        self.file.unlink(missing_ok=True)
        self.start()
        return copy

    def next_hint(self) -> tuple[int, str] | None:
        """Return the next hint and its number from 1, or None when all have been given."""
        given = self.record.hints
        hints = self.exercise.hints()
        if given >= len(hints):
            return None
        self._change(lambda record: record._replace(hints=given + 1))
        return given + 1, hints[given]

    def remember(self, passed: bool) -> None:
        """Count a check, and keep the time of the first that passed as a whole."""
        self._change(
            lambda record: record._replace(
                checks=record.checks + 1, passed=record.passed or (now() if passed else "")
            )
        )

    def give_up(self) -> None:
        """Record that the learner wants the solution before passing."""
        self._change(lambda record: record._replace(gave_up=record.gave_up or now()))

    def _change(self, change: Callable[[Record], Record]) -> None:
        self.progress.change(self.exercise.id, change)
