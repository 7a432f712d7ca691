"""`kafka-edu bench live-page`: the brokers in a web page, visited by a real browser.

The command builds the page of `docs build --live` alone, serves it with `python -m http.server`,
and visits it with headless Chromium. The browser goes through a lesson by keys: a leader is killed,
an election follows, and the run goes back in time. Then the browser visits the page again: with its
cache, with a window as small as a phone, and after the server has stopped. It also solves the
exercises of the page, after it has tried a wrong solution and one that never ends. The command
measures load times and the memory of the browser tab, and keeps pictures.

With `--chapters`, the command runs each chapter of the page from its first step to its last step.
This takes an hour. With `--state FILE` the command can be stopped, and goes on when it is started
again: see `live_course.py`.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from exercises.runner.manifest import load_manifest
from kafka_edu.cli.docs_site.live.build import build_live, loaded
from kafka_edu.cli.docs_site.live.chapters import chapters_of
from kafka_edu.cli.docs_site.live.npm_packages import LiveError, fetched
from kafka_edu.cli.report import Report
from kafka_edu.common.python_process import checkout, command_line
from kafka_edu.sim.result_file import ResultFileError

from . import live_course

NAME = "live-page"
HELP = "the brokers in a web page: sizes, load times, memory and a lesson in a real browser"

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
FIRST_S: Final = 15.0
LATER_S: Final = 6.0
MEMORY_MB: Final = 600.0
_TIMEOUT_S: Final = 900


def solutions() -> dict[str, str]:
    """Return the solution of each exercise of the page, by its id."""
    return {
        one.id: one.solution.read_text(encoding="utf-8")
        for one in load_manifest().values()
        if one.page
    }


def visited(
    root: Path, modules: Path, chromium: str, folder: Path, pictures: Path
) -> dict[str, object]:
    """Visit the page in this folder, and return what the browser has found. Raises LiveError."""
    script = root / "page" / "npm" / "visit.mjs"
    with tempfile.TemporaryDirectory(prefix="profile-") as profile:
        answers = Path(profile, "solutions.json")
        answers.write_text(json.dumps(solutions()), encoding="utf-8")
        return live_course.driven(
            script,
            *(modules, chromium, sys.executable),
            *(folder, profile, pictures, answers),
            timeout_s=_TIMEOUT_S,
        )


def report_of(folder: Path, result: dict[str, object]) -> Report:
    """Return the figures of a visit, and the targets."""
    report = Report(NAME)
    sizes = loaded(folder)
    report.figure("MB that a first visit loads", round(sum(sizes.values()) / 1e6, 1))
    for name in sorted(sizes, key=lambda name: -sizes[name])[:5]:
        report.figure(f"MB of {name}", round(sizes[name] / 1e6, 2))
    whole = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    report.figure("MB of the whole folder", round(whole / 1e6, 1))
    found = result["found"]
    assert isinstance(found, dict)
    for name, value in found.items():
        if isinstance(value, dict):
            for part, seconds in value.items():
                report.figure(f"{name}: {part}", seconds)
        else:
            report.figure(name, value)
    lesson = "three brokers are in sync, s"
    report.target("s to the first lesson", found.get("first visit", {}).get(lesson), "<=", FIRST_S)
    report.target("s at a later visit", found.get("later visit", {}).get(lesson), "<=", LATER_S)
    exercise = found.get("memory of the tab with an exercise, MB")
    report.target("MB of memory with an exercise", exercise, "<=", MEMORY_MB)
    report.target("MB of memory", found.get("memory of the tab, MB"), "<=", MEMORY_MB)
    errors = result["errors"]
    assert isinstance(errors, list)
    report.figure("errors in the browser's console", errors)
    report.target("errors in the browser's console", len(errors), "==", 0)
    report.target("lessons that failed", int(bool(result["failed"])), "==", 0)
    return report


def _reported(course: live_course.Course, parts: list[live_course.Part], file: Path | None) -> int:
    """Run the parts of `bench live-page --chapters`, and show their tables. Return 1 if a part has
    failed.
    """
    done = course.take(parts)
    report = live_course.report_of(done, course.chapters)
    live_course.show(report, done, course.chapters)
    if file:
        report.write(file)
    return int(any(one.failed for one in done))


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when the whole lesson was shown, even if targets are missed."""
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=__doc__)
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="keep pictures here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    parser.add_argument(
        "--chapters", action="store_true", help="take each chapter to its end, instead of a visit"
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NN", help="with --chapters: only these chapters"
    )
    parser.add_argument(
        "--minutes", type=int, default=0, metavar="N", help="let a cluster run on for N minutes"
    )
    parser.add_argument(
        "--state",
        type=Path,
        metavar="FILE",
        help="keep the result of each chapter here, to go on later",
    )
    args = parser.parse_args(argv)
    long = args.chapters or args.minutes > 0
    if (args.only or args.state) and not long:
        parser.error("--only and --state need --chapters or --minutes")
    root = checkout()
    chromium = next(filter(None, map(shutil.which, BROWSERS)), None)
    if root is None:
        sys.exit("the page is in the checkout, not in this installation: clone the repository")
    if chromium is None:
        sys.exit(f"no browser is installed: {', '.join(BROWSERS)}. Install Debian's chromium.")
    with tempfile.TemporaryDirectory(prefix="live-page-") as work:
        folder, pictures = Path(work, "live"), args.pictures or Path(work, "pictures")
        pictures.mkdir(parents=True, exist_ok=True)
        try:
            chapters = chapters_of(root)
            if unknown := set(args.only) - {about["id"] for about in chapters}:
                parser.error(f"the page has no chapter {', '.join(sorted(unknown))}")
            build_live(root, folder, chapters)
            modules = fetched(root / "page" / "npm", dev=True)
            if long:
                script = root / "page" / "npm" / "course.mjs"
                browser = live_course.Browser(
                    script, modules, chromium, folder, pictures.absolute()
                )
                course = live_course.Course(root, browser, chapters, args.state)
                parts = live_course.parts_of(
                    folder, chapters if args.chapters else [], args.only, args.minutes
                )
                return _reported(course, parts, args.json)
            result = visited(root, modules, chromium, folder, pictures.absolute())
        except (LiveError, ResultFileError) as error:
            sys.exit(str(error))
        report = report_of(folder, result)
    report.show()
    if result["failed"]:
        print(result["failed"], file=sys.stderr)
    if args.json:
        report.write(args.json)
    return 1 if result["failed"] else 0
