"""`kafka-edu bench live-page --chapters`: take each chapter of the live page in a real browser.

To take a chapter is to go through all its steps with the keys of a learner: space goes on, digits
answer. Then the first and the last link ⟲ of the chapter's text are clicked. Two chapters are also
taken on a cluster of real processes, and the marked values of their pages are compared with both
runs. `--minutes N` lets a cluster run for N more minutes in the page, and measures the memory of
the browser tab each minute.

Each part takes minutes. `--state FILE` keeps the result of each part. So if the command is stopped
and started again, it goes on with the next part.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.table import Table

from chapters.chapter import find_chapters
from chapters.command import presenter
from chapters.page_values import Held, compare, page_values
from chapters.simulated import SimulatedChapter, simulated
from kafka_edu.cli.docs_site.live.chapters import Chapters, version_of
from kafka_edu.cli.docs_site.live.npm_packages import LiveError, program
from kafka_edu.cli.report import Report
from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.sim.result_file import ResultFile

ON_PROCESSES: Final = ("00", "04")
"""The chapters that are also taken on real processes."""
WATCHED: Final = "00"
"""The chapter whose cluster and load run on while the memory of the tab is measured."""
MEMORY_MB: Final = 600
_REWIND: Final = re.compile(r'class="rewind" href="(#chapter=\d\d&amp;fact=(\w+))"')
_TIMEOUT_S: Final = 3 * 3600


class Part(NamedTuple):
    """One part of the benchmark: a chapter, a link, a run on processes, or the minutes of a
    cluster.
    """

    kind: str
    chapter: str
    which: str = ""
    """The name that a link leads to, or the number of minutes."""


class Done(NamedTuple):
    """The result of one part of the benchmark, as it is stored in the state file."""

    kind: str
    chapter: str
    which: str
    code: str
    """The version of the code that was run."""
    found: Mapping[str, Any]
    errors: Sequence[str]
    """The errors in the browser's console."""
    failed: str
    """Why the part did not reach its end; empty if it did."""

    @property
    def part(self) -> Part:
        return Part(self.kind, self.chapter, self.which)


def driven(script: Path, *args: str | Path, timeout_s: int) -> dict[str, Any]:
    """Run a Node.js script that drives a browser, and return the script's result. The script's
    standard error is shown. Raises LiveError if the browser cannot be driven.
    """
    done = subprocess.run(
        [program("node"), script, *args],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    if not done.stdout.startswith("{"):
        raise LiveError(f"the browser cannot be driven: {script.name} ended with {done.returncode}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


class Browser(NamedTuple):
    """How the browser is driven."""

    script: Path
    modules: Path
    chromium: str
    folder: Path
    """The folder of the page."""
    pictures: Path

    def takes(self, kind: str, **more: object) -> dict[str, Any]:
        """Run course.mjs with a job of this kind, and return its result. Raises LiveError if the
        browser cannot be driven.
        """
        with tempfile.TemporaryDirectory(prefix="profile-") as profile:
            job = {
                "modules": str(self.modules),
                "chromium": self.chromium,
                "python": sys.executable,
                "folder": str(self.folder),
                "profile": profile,
                "pictures": str(self.pictures),
                "kind": kind,
                **more,
            }
            return driven(self.script, json.dumps(job), timeout_s=_TIMEOUT_S)


def ends_of(text: str) -> list[str]:
    """Return the names to which the first and the last link ⟲ of a chapter's text lead."""
    names = [name for _, name in _REWIND.findall(text)]
    return list(dict.fromkeys([*names[:1], *names[-1:]]))


def parts_of(folder: Path, chapters: Chapters, only: Sequence[str], minutes: int) -> list[Part]:
    """Return the parts of the benchmark, in order. `only` names the chapters; if it is empty, all
    chapters are taken.
    """
    wanted = [about["id"] for about in chapters if not only or about["id"] in only]
    parts = [Part("minutes", WATCHED, str(minutes))] if minutes else []
    for number in wanted:
        text = (folder / f"chapter-{number}.html").read_text(encoding="utf-8")
        parts.append(Part("chapter", number))
        parts += [Part("link", number, name) for name in ends_of(text)]
        if number in ON_PROCESSES:
            parts.append(Part("processes", number))
    return parts


def in_page(number: str) -> SimulatedChapter:
    """Return the script of a chapter, as it runs in the page."""
    return simulated(number, find_chapters()[number].script(presenter().screen_names()), "")


def step_of(number: str, name: str) -> int:
    """Return which step of a chapter binds a name when the chapter runs in the page. Step numbers
    begin at 1.
    """
    return next(
        place
        for place, step in enumerate(in_page(number).script.steps, 1)
        if any(name in each.bind for each in step.expectations)
    )


def held_in_page(number: str, names: Mapping[str, str]) -> list[Held]:
    """Compare the marked values of a chapter's text with the names of a run in the page. If the
    page leaves out a step, the values of that step are not compared.
    """
    values = page_values(find_chapters()[number].text())
    missing = in_page(number).missing
    return compare([one for one in values if not {one.name, one.less} & missing], names)


def on_processes(number: str) -> dict[str, Any]:
    """Run a chapter on a cluster of real processes, without keys. Return the names that the run has
    bound. The cluster is deleted when the chapter ends.
    """
    with tempfile.TemporaryDirectory(prefix="live-course-") as work:
        file = Path(work, "values.json")
        done = subprocess.run(
            python_command(
                "kafka_edu", "chapter", number, "--fast", "--plain", "--json", str(file)
            ),
            env=python_environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
        )
        if not file.exists():
            why = (done.stderr or done.stdout).strip()[-400:]
            return {"found": {}, "errors": [], "failed": f"chapter {number} --fast: {why}"}
        names = json.loads(file.read_text(encoding="utf-8"))["figures"]
    return {"found": {"names": names}, "errors": [], "failed": ""}


class Course:
    """Runs the parts of the benchmark, and keeps each result in the state file if there is one."""

    def __init__(
        self, root: Path, browser: Browser, chapters: Chapters, state: Path | None
    ) -> None:
        """Raises ResultFileError."""
        self._browser = browser
        self.chapters = {about["id"]: about for about in chapters}
        self._code = version_of(root, chapters)
        self._state = (
            ResultFile(state, lambda fields: Done(**fields), self._code) if state else None
        )
        kept = self._state.load() if self._state is not None else []
        self.done = {one.part: one for one in kept if not one.failed}

    def take(self, parts: Sequence[Part]) -> list[Done]:
        """Run the parts that have no result in the state file. Return the results of all parts.

        Raises LiveError or ResultFileError.
        """
        for part in parts:
            if part in self.done:
                continue
            print(f"{part.kind} {part.chapter} {part.which}".rstrip(), file=sys.stderr, flush=True)
            done = Done(*part, code=self._code, **self._result(part))
            self.done[part] = done
            if self._state is not None:
                self._state.add(done)
        return [self.done[part] for part in parts]

    def _result(self, part: Part) -> dict[str, Any]:
        about = self.chapters[part.chapter]
        match part.kind:
            case "processes":
                return on_processes(part.chapter)
            case "link":
                wanted = step_of(part.chapter, part.which)
                more = {"fact": part.which, "steps": about["steps"], "wanted": wanted}
            case "minutes":
                more = {"minutes": int(part.which), "steps": about["steps"]}
            case _:
                more = {"steps": about["steps"]}
        return self._browser.takes(part.kind, chapter=part.chapter, **more)


def compared(done: Sequence[Done]) -> Iterator[tuple[str, Held, Held]]:
    """Yield each marked value of the chapters that ran both in the page and on real processes. A
    tuple has the chapter's number, the value in the page, and the value on real processes.
    """
    of = {one.part: one for one in done if not one.failed}
    for number in ON_PROCESSES:
        here, there = of.get(Part("chapter", number)), of.get(Part("processes", number))
        if here is None or there is None:
            continue
        page = held_in_page(number, here.found["names"])
        processes = compare([each.value for each in page], there.found["names"])
        for one, other in zip(page, processes, strict=True):
            yield number, one, other


def report_of(done: Sequence[Done], chapters: Mapping[str, Mapping[str, Any]]) -> Report:
    """Return a report with the figures of all parts, and the targets."""
    report = Report("live-page-chapters")
    for one in done:
        name = " ".join(filter(None, one.part))
        report.figure(name, one.failed or figures_of(one, chapters))
    rows = list(compared(done))
    if rows:
        report.figure("the same lesson twice", [in_words(*row) for row in rows])
        wrong = [row for row in rows if row[1].objection or row[2].objection]
        report.target("marked values that do not hold in both runs", len(wrong), "==", 0)
    unseen = sum(
        len(one.found["failures"]) + len(one.found["not shown"])
        for one in done
        if one.kind == "chapter" and not one.failed
    )
    report.target("steps that failed or did not show what they should", unseen, "==", 0)
    report.target("parts that failed", sum(bool(one.failed) for one in done), "==", 0)
    errors = sum(len(one.errors) for one in done)
    report.target("errors in the browser's console", errors, "==", 0)
    for one in done:
        if one.kind in ("chapter", "minutes") and not one.failed:
            most = figures_of(one, chapters)["memory of the tab, MB"]
            name = f"MB after {one.kind} {one.chapter} {one.which}".rstrip()
            report.target(name, most, "<=", MEMORY_MB)
    return report


def figures_of(one: Done, chapters: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the figures of one part."""
    found, about = one.found, chapters[one.chapter]
    match one.kind:
        case "chapter":
            left_out = about["left_out"]
            held = held_in_page(one.chapter, found["names"])
            return {
                "steps": about["steps"],
                "steps that the page does not have": len(left_out),
                "marked values": len(held),
                "marked values that do not hold": [
                    each.objection for each in held if each.objection
                ],
                "seconds": found["seconds"],
                "virtual seconds": found["virtual seconds"],
                "memory of the tab, MB": found["memory, MB"],
                "failures": found["failures"],
                "not shown": found["not shown"],
                "console": list(one.errors),
            }
        case "minutes":
            looks = found["looks"]
            return {
                "memory of the tab, MB": max(look["memory, MB"] for look in looks),
                "at the begin, MB": looks[0]["memory, MB"],
                "at the end, MB": looks[-1]["memory, MB"],
                "virtual seconds": looks[-1]["virtual seconds"],
            }
        case "processes":
            return {"names": len(found["names"])}
        case _:
            return dict(found)


def in_words(number: str, here: Held, there: Held) -> dict[str, object]:
    """Return the row of one marked value: what the text says, and what both runs have shown."""
    value = here.value
    return {
        "chapter": number,
        "value": value.name + (f"-{value.less}" if value.less else ""),
        "must be": "equal" if value.bounds is None else "{:g} to {:g}".format(*value.bounds),
        "text": f"{value.printed} {value.unit}".strip(),
        "in the page": here.seen,
        "on processes": there.seen,
        "holds": not (here.objection or there.objection),
    }


def show(report: Report, done: Sequence[Done], chapters: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the tables: the chapters, the links, the chapters that ran twice, and the targets."""
    console = Console()
    of_kind: dict[str, Table] = {}
    for one in done:
        if one.failed:
            console.print(f"{one.kind} {one.chapter} {one.which}: {one.failed}", markup=False)
            continue
        figures = figures_of(one, chapters)
        if (table := of_kind.get(one.kind)) is None:
            table = of_kind[one.kind] = Table("chapter", "", *figures, title=one.kind)
        table.add_row(one.chapter, one.which, *map(_cell, figures.values()))
    for table in of_kind.values():
        console.print(table)
    rows = [in_words(*row) for row in compared(done)]
    if rows:
        twice = Table(*rows[0], title="the same lesson, taken in the page and on processes")
        for row in rows:
            twice.add_row(*map(_cell, row.values()))
        console.print(twice)
    report.show(console, figures=False)


def _cell(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(map(str, value)) or "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
