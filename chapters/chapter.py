"""The chapters: packages chNN_slug with a page, a script for the presenter, and a recording.

A chapter may have *parts*, for lessons that need another cluster. The files of a part are next to
the chapter's own script, page and recording: `ensemble.toml`, `ensemble.md` and
`ensemble.jsonl.gz`.
"""

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Collection, Coroutine, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

import graphviz

from kafka_edu.instruments.presenter.script import Jobs, Picture, Script
from kafka_edu.instruments.presenter.script_reader import read_script
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.spark import JobStarted
from kafka_edu.trace.tracer import Tracer

#: A program of a job. It may build our clients with the tracer that it gets.
Program = Callable[[Tracer], Coroutine[object, object, None]]
PACKAGE: Final = __name__.rpartition(".")[0]
FOLDER: Final = Path(__file__).parent
SCRIPT: Final = "script"


class JobPlace(NamedTuple):
    """The tools that a chapter's jobs get from the program that runs them.

    A chapter with jobs has a module `jobs`. It defines JOBS (name → the job in a few words), NEEDS
    (a group of packages, and modules from it), and `open_jobs`, which takes a JobPlace and yields
    the function that runs a job by its name.
    """

    bootstrap_servers: str
    folder: Path
    """A folder of the cluster for checkpoints and results.

    It is deleted together with the cluster.
    """
    emit: Callable[[Event], None]
    another_waits: Callable[[], bool]
    """Returns whether the job should end because another job waits."""
    cluster: str
    """The cluster's name."""
    run: Callable[[Program], None]
    """Run a program to its end. Our clients in it emit their events on the cluster."""

    def runner(self, program: Callable[[str], Program]) -> Callable[[str], None]:
        """Return the function that runs a job by its name, if each job is a program."""

        def run(name: str) -> None:
            self.emit(JobStarted(job=name))
            self.run(program(name))

        return run


RunsJobs = Callable[[JobPlace], AbstractContextManager[Callable[[str], None]]]


class Chapter(NamedTuple):
    """A package chNN_slug that has a page. Packages without a page contain only demos."""

    number: str
    """The chapter's number as two digits, such as `02`."""
    name: str
    """The name of the package, such as `ch02_timing_wheel`."""
    part: str = ""
    """The name of a part; empty for the chapter itself."""

    @property
    def id(self) -> str:
        """Return `05` for a chapter, and `05-ensemble` for its part."""
        return f"{self.number}-{self.part}" if self.part else self.number

    @property
    def command(self) -> str:
        """Return the command that starts the chapter: `chapter 05 --part ensemble`."""
        return f"chapter {self.number}" + (f" --part {self.part}" if self.part else "")

    def parts(self) -> dict[str, "Chapter"]:
        """Return part name → part, in alphabetical order."""
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
        """Return the file with a recorded run of the script, for `--replay`."""
        return self.folder / f"{self.part or 'recording'}.jsonl.gz"

    @property
    def title(self) -> str:
        return self.text().partition("\n")[0].lstrip("# ")

    def text(self) -> str:
        return self.page.read_text(encoding="utf-8")

    def pictures(self) -> Mapping[str, Picture]:
        """Draw the pictures that the script shows, and return them by name.

        Drawing takes less than a second.
        """
        module = self._module("pictures")
        drawings: Mapping[str, Callable[[], Picture]] = module.DRAWINGS if module else {}
        return {name: drawing() for name, drawing in drawings.items()}

    def figures(self) -> Mapping[str, graphviz.Digraph]:
        """Return the chapter's figures by name."""
        module = self._module("pictures")
        drawn: Mapping[str, graphviz.Digraph] = module.figures() if module is not None else {}
        return drawn

    def jobs(self) -> Jobs:
        """Return the jobs that the script may run, and the command that runs them."""
        module = self._module("jobs")
        if module is None:
            return Jobs()
        names: Mapping[str, str] = module.JOBS
        return Jobs(("chapter", self.number, "--jobs"), names)

    def needs(self) -> tuple[str, ...]:
        """Return the group of packages that the jobs need, and modules from it. The result is empty
        if they need no group.
        """
        module = self._module("jobs")
        needs: tuple[str, ...] = module.NEEDS if module is not None else ()
        return needs

    def open_jobs(self, place: JobPlace) -> AbstractContextManager[Callable[[str], None]]:
        """Open the chapter's jobs. The block gets the function that runs a job.

        It may take seconds to open.
        """
        module = self._module("jobs")
        assert module is not None
        opens: RunsJobs = module.open_jobs
        return opens(place)

    def _module(self, part: str) -> ModuleType | None:
        """Return a module of the chapter's package, or None if the chapter does not have it."""
        name = f"{PACKAGE}.{self.name}.{part}"
        return importlib.import_module(name) if importlib.util.find_spec(name) else None

    def script(self, screens: Collection[str]) -> Script:
        """Read the script. It may show only the `screens`. Raises ScriptError if the script is
        wrong.
        """
        return read_script(self.script_file, screens, self.pictures(), self.jobs())


def find_chapters() -> dict[str, Chapter]:
    """Return number → chapter, in the order of the numbers."""
    names = sorted(
        module.name
        for module in pkgutil.iter_modules([str(FOLDER)])
        if module.ispkg and (FOLDER / module.name / "README.md").is_file()
    )
    return {name[2:4]: Chapter(name[2:4], name) for name in names}
