"""Where a learner works: a folder `lab/<id>` with the learner's file and what the lab remembers of
it.
"""

import json
from pathlib import Path
from typing import Final

from .manifest import Exercise

FOLDER: Final = "lab"
STATE: Final = ".lab.json"


class Workplace:
    """The learner's folder for one exercise."""

    def __init__(self, exercise: Exercise, root: Path | None = None) -> None:
        """`root` is the folder that holds one folder for each exercise; `lab` here if not given."""
        self.exercise = exercise
        self.folder = (root if root is not None else Path.cwd() / FOLDER) / exercise.id

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

    def start(self) -> bool:
        """Put the starter there; returns False, and changes nothing, if the learner has a file
        already.
        """
        if self.started:
            return False
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(self.exercise.starter.read_bytes())
        (self.folder / "README.md").write_bytes(self.exercise.readme.read_bytes())
        return True

    def next_hint(self) -> tuple[int, str] | None:
        """The next hint and its number from 1, or None when all have been given."""
        state = self._state()
        given = state.get("hints", 0)
        hints = self.exercise.hints()
        if given >= len(hints):
            return None
        state["hints"] = given + 1
        self._keep(state)
        return given + 1, hints[given]

    @property
    def hints_given(self) -> int:
        return self._state().get("hints", 0)

    @property
    def passed(self) -> bool:
        """Whether the last check passed as a whole."""
        return bool(self._state().get("passed", 0))

    def remember(self, passed: bool) -> None:
        state = self._state()
        state["passed"] = int(passed)
        self._keep(state)

    def _state(self) -> dict[str, int]:
        try:
            document = json.loads((self.folder / STATE).read_text(encoding="utf-8"))
        except (OSError, ValueError):  # none yet, or somebody edited it
            return {}
        return (
            {str(key): int(value) for key, value in document.items()}
            if isinstance(document, dict)
            else {}
        )

    def _keep(self, state: dict[str, int]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / STATE).write_text(json.dumps(state) + "\n", encoding="utf-8")
