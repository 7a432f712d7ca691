"""The table of exercises, read from manifest.toml."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.python_process import as_typed_here
from kafka_edu.common.user_files import DEFAULT_STATE, state_folder

ROOT: Final = Path(__file__).resolve().parents[1]
PYTHON: Final = "python"


class UnknownExerciseError(Exception):
    """There is no exercise with that id. The message lists all ids."""


class Exercise(NamedTuple):
    """One row of the manifest, with the paths and modules of an exercise.

    `folder`, `solution` and `wrong` are paths. `live`, `material`, `trouble` and `orders` are names
    of modules in `exercises`, or empty.
    """

    id: str
    title: str
    kind: str
    """The kind of exercise: build, debug, operate or predict."""
    chapter: str
    folder: Path
    file: str
    wanted: str
    live: str
    solution: Path
    material: str
    """The module that makes a learner's own files; empty if there is none."""
    trouble: str
    """The module that starts a cluster and makes its trouble; empty if there is none."""
    minutes: int
    wrong: Path
    """The file with the wrong answers (`exercises.wrong_answers`). It may be missing."""
    points: Mapping[str, float]
    """Name of a test → its points. Tests that are missing here have 1 point."""
    orders: str = ""
    """The module that tries every order of events in a small world; empty if there is none."""
    engine: str = PYTHON
    """The program that runs the answer: `python`, or `spark` for PySpark (`spark_learner`)."""
    page: bool = False
    """Whether the exercise can be edited and checked in the web page (docs/live-page.md)."""
    simulated: bool = False
    """Whether the live part uses a simulated cluster, in virtual time and in one process."""

    @property
    def live_cluster(self) -> str:
        """Return the kind of cluster that the live part uses, as it is shown to the learner."""
        return "simulated cluster" if self.simulated else "live cluster"

    @property
    def hidden_tests(self) -> Path:
        """The file with the hidden tests, which run only in a grade. The file may be missing."""
        return self.folder / "hidden_tests.py"

    def points_of(self, test: str) -> float:
        """Return the points of a test. If a test has several cases, its points count for
        each of them.
        """
        return self.points.get(test, self.points.get(test.partition("[")[0], 1.0))

    @property
    def readme(self) -> Path:
        return self.folder / "README.md"

    @property
    def beyond_public(self) -> bool:
        """Whether the exercise has a live part or a cluster to check after the public tests."""
        return bool(self.live or self.trouble)

    def task(self) -> str:
        """Return the text of README.md, with the commands and folders of this installation."""
        return _as_it_is_here(self.readme.read_text(encoding="utf-8"))

    @property
    def starter(self) -> Path:
        return self.folder / "starter.py"

    @property
    def public_tests(self) -> Path:
        return self.folder / "public_tests.py"

    def hints(self) -> list[str]:
        """Return the sections of hints.md. The first hints give away least."""
        text = _as_it_is_here((self.folder / "hints.md").read_text(encoding="utf-8"))
        return [section.partition("\n")[2].strip() for section in text.split("\n## ")[1:]]


def _as_it_is_here(text: str) -> str:
    """Return a page's text with the program name and cluster folder of this installation."""
    return as_typed_here(text).replace(f"~/{DEFAULT_STATE}", _from_home(state_folder()))


def _from_home(path: Path) -> str:
    """Return the path as a user types it, with ~ for the home folder."""
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)


def load_manifest(root: Path = ROOT) -> dict[str, Exercise]:
    """Return all exercises by id, in the manifest's order."""
    with (root / "manifest.toml").open("rb") as file:
        rows = tomllib.load(file)["exercise"]
    return {
        row["id"]: Exercise(
            row["id"],
            row["title"],
            row["kind"],
            row["chapter"],
            root / row["folder"],
            row["file"],
            row["wanted"],
            row.get("live", ""),
            root / row["solution"],
            row.get("material", ""),
            row.get("trouble", ""),
            int(row["minutes"]),
            root / row["wrong"],
            row.get("points", {}),
            row.get("orders", ""),
            row.get("engine", PYTHON),
            row.get("page", False),
            row.get("simulated", False),
        )
        for row in rows
    }


def find_exercise(exercise_id: str) -> Exercise:
    exercises = load_manifest()
    if exercise_id not in exercises:
        raise UnknownExerciseError(
            f"there is no exercise '{exercise_id}'; there are: {', '.join(exercises)}"
        )
    return exercises[exercise_id]
