"""The chapters: packages chNN_slug with a page, a script for the presenter, and a recording.

A chapter may have *parts*, for what needs another cluster: `ensemble.toml`, `ensemble.md` and
`ensemble.jsonl.gz` beside the chapter's own script, page and recording.
"""

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

import graphviz

from kafka_edu.instruments.presenter.script import Jobs, Picture, Script
from kafka_edu.instruments.presenter.script_reader import read_script
from kafka_edu.trace.event import Event

PACKAGE: Final = __name__.rpartition(".")[0]
FOLDER: Final = Path(__file__).parent
SCRIPT: Final = "script"


class JobPlace(NamedTuple):
    """The surroundings of a chapter's jobs.

    A chapter with jobs has a module `jobs`: JOBS (name → the job in a few words), NEEDS (a group of
    packages and modules of it), and `open_jobs`, which takes a JobPlace and yields the function
    that runs a job by its name.
    """

    bootstrap_servers: str
    folder: Path
    """A folder of the cluster, for checkpoints and results. It goes with the cluster."""
    emit: Callable[[Event], None]
    another_waits: Callable[[], bool]
    """Whether the job should end, because another one waits."""
    cluster: str = ""
    """The cluster's name."""


RunsJobs = Callable[[JobPlace], AbstractContextManager[Callable[[str], None]]]


class Chapter(NamedTuple):
    """A package chNN_slug that has a page. The others hold demos only."""

    number: str
    """Two digits."""
    name: str
    """Of the package, as `ch02_timing_wheel`."""
    part: str = ""
    """The name of a part; empty for the chapter itself."""

    @property
    def id(self) -> str:
        """`05`, and for a part `05-ensemble`."""
        return f"{self.number}-{self.part}" if self.part else self.number

    @property
    def command(self) -> str:
        """The command that starts it: `chapter 05 --part ensemble`."""
        return f"chapter {self.number}" + (f" --part {self.part}" if self.part else "")

    def parts(self) -> dict[str, "Chapter"]:
        """Return the chapter's parts by name, in order."""
        names = sorted(file.stem for file in self.folder.glob("*.toml") if file.stem != SCRIPT)
        return {name: self._replace(part=name) for name in names}

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    @property
    def page(self) -> Path:
        return self.folder / (f"{self.part}.md" if self.part else "README.md")

    @property
    def script_file(self) -> Path:
        return self.folder / f"{self.part or SCRIPT}.toml"

    @property
    def recording(self) -> Path:
        """One run of the script, for `--replay`."""
        return self.folder / f"{self.part or 'recording'}.jsonl.gz"

    @property
    def title(self) -> str:
        return self.text().partition("\n")[0].lstrip("# ")

    def text(self) -> str:
        return self.page.read_text(encoding="utf-8")

    def pictures(self) -> Mapping[str, Picture]:
        """Draw the pictures that its script shows, by name. It takes less than a second."""
        module = self._module("pictures")
        drawn: Mapping[str, Picture] = module.draw_all() if module is not None else {}
        return drawn

    def figures(self) -> Mapping[str, graphviz.Digraph]:
        """Return its figures, by name."""
        module = self._module("pictures")
        drawn: Mapping[str, graphviz.Digraph] = module.figures() if module is not None else {}
        return drawn

    def jobs(self) -> Jobs:
        """Return the jobs that its script may run, and the command of their process."""
        module = self._module("jobs")
        if module is None:
            return Jobs()
        names: Mapping[str, str] = module.JOBS
        return Jobs(("chapter", self.number, "--jobs"), names)

    def needs(self) -> tuple[str, ...]:
        """Return the group of packages that its jobs need, and modules of it. Empty: none."""
        module = self._module("jobs")
        needs: tuple[str, ...] = module.NEEDS if module is not None else ()
        return needs

    def open_jobs(self, place: JobPlace) -> AbstractContextManager[Callable[[str], None]]:
        """Return what runs its jobs. It may take seconds to open."""
        module = self._module("jobs")
        assert module is not None
        opens: RunsJobs = module.open_jobs
        return opens(place)

    def _module(self, part: str) -> ModuleType | None:
        """Return a module of the package; a chapter need not have it."""
        name = f"{PACKAGE}.{self.name}.{part}"
        return importlib.import_module(name) if importlib.util.find_spec(name) else None

    def script(self, screens: Collection[str]) -> Script:
        """Read the script, which may go to these screens. Raises ScriptError."""
        return read_script(self.script_file, screens, self.pictures(), self.jobs())


def find_chapters() -> dict[str, Chapter]:
    """Return the chapters by their number, in order."""
    names = sorted(
        module.name
        for module in pkgutil.iter_modules([str(FOLDER)])
        if module.ispkg and (FOLDER / module.name / "README.md").is_file()
    )
    return {name[2:4]: Chapter(name[2:4], name) for name in names}
