"""`bench live-page --chapters`, which takes each chapter of the live page in a browser: its parts,
its state file, and the counts in its report.
"""

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from benchmarks import live_course
from benchmarks.live_course import (
    Browser,
    Course,
    Done,
    Part,
    compared,
    ends_of,
    figures_of,
    in_words,
    parts_of,
    report_of,
    step_of,
)
from chapters.chapter import find_chapters
from chapters.page_files import data_of
from kafka_edu.sim.result_file import ResultFileError

ROOT = Path(__file__).resolve().parents[3]
TEXT = "".join(
    f'<a class="rewind" href="#chapter=00&amp;fact={name}" title="x">⟲</a>'
    for name in ("session_ms", "elected_at", "epoch")
)
#: What a run of chapter 00 binds, so that each value of its page holds.
NAMES = {
    "session_ms": "6000",
    "killed_at": "1000",
    "elected_at": "7200",
    "victim": "1",
    "leader": "2",
    "epoch": "1",
    "isr": "0,2",
}


@pytest.fixture(scope="module")
def about() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(data_of(find_chapters()["00"])))
    return data


def chapter_of(names: dict[str, str], **more: object) -> Done:
    found = {
        "names": names,
        "seconds": 90.5,
        "virtual seconds": 82.4,
        "memory, MB": 500,
        "failures": [],
        "not shown": [],
        **more,
    }
    return Done("chapter", "00", "", "v", found, [], "")


def test_the_parts_are_the_chapters_their_end_links_and_the_runs_on_processes(
    tmp_path: Path,
) -> None:
    assert ends_of(TEXT) == ["session_ms", "epoch"]
    assert ends_of("no links") == []
    assert ends_of(TEXT[: len(TEXT) // 3]) == ["session_ms"], "the same link is opened once"
    (tmp_path / "chapter-00.html").write_text(TEXT, encoding="utf-8")
    (tmp_path / "chapter-01.html").write_text("", encoding="utf-8")
    chapters = [{"id": "00"}, {"id": "01"}]
    assert parts_of(tmp_path, chapters, [], 30) == [
        Part("minutes", "00", "30"),
        Part("chapter", "00"),
        Part("link", "00", "session_ms"),
        Part("link", "00", "epoch"),
        Part("processes", "00"),
        Part("chapter", "01"),
    ]
    assert parts_of(tmp_path, chapters, ["01"], 0) == [Part("chapter", "01")]


def test_a_link_leads_to_the_step_that_binds_its_name() -> None:
    assert step_of("00", "victim") == 2
    assert step_of("00", "elected_at") == 4


class Played(Browser):
    """Answers in place of a browser."""

    jobs: ClassVar[list[tuple[str, dict[str, object]]]] = []

    def takes(self, kind: str, **more: object) -> dict[str, Any]:
        self.jobs.append((kind, more))
        failed = "never shown" if more.get("fact") == "epoch" else ""
        return {"found": {"step": 1}, "errors": [], "failed": failed}


def test_a_command_that_is_started_again_goes_on_with_the_next_part(
    tmp_path: Path, about: dict[str, Any]
) -> None:
    state = tmp_path / "state.jsonl"
    browser = Played(Path(), Path(), "", Path(), Path())
    parts = [Part("chapter", "00"), Part("link", "00", "victim"), Part("link", "00", "epoch")]
    first = Course(ROOT, browser, [about], state).take(parts[:1])
    assert [one.part for one in first] == parts[:1]
    taken = Course(ROOT, browser, [about], state).take(parts)
    assert [kind for kind, _ in browser.jobs] == ["chapter", "link", "link"]
    assert browser.jobs[1][1] == {"chapter": "00", "fact": "victim", "steps": 5, "wanted": 2}
    assert [bool(one.failed) for one in taken] == [False, False, True]
    Course(ROOT, browser, [about], state).take(parts)
    assert len(browser.jobs) == 4, "only the part that has failed is taken again"
    other = {**about, "title": "another version"}
    with pytest.raises(ResultFileError, match="another version of the code"):
        Course(ROOT, browser, [other], state)


def test_a_chapter_taken_twice_is_compared_value_by_value(about: dict[str, Any]) -> None:
    real = Done("processes", "00", "", "v", {"names": {**NAMES, "elected_at": "99999"}}, [], "")
    rows = [in_words(*row) for row in compared([chapter_of(NAMES), real])]
    by_name = {row["value"]: row for row in rows}
    assert by_name["session_ms"]["holds"] is True
    assert by_name["session_ms"]["must be"] == "equal"
    late = by_name["elected_at-killed_at"]
    assert (late["in the page"], late["on processes"], late["holds"]) == ("6200", "98999", False)
    report = report_of([chapter_of(NAMES), real], {"00": about})
    targets = {each.name: each.value for each in report.targets}
    assert targets["marked values that do not hold in both runs"] == 1
    assert list(compared([chapter_of(NAMES)])) == [], "it was taken once"


def test_a_step_that_did_not_show_what_it_should_is_counted(about: dict[str, Any]) -> None:
    good = report_of([chapter_of(NAMES)], {"00": about})
    assert good.holds
    bad = chapter_of(NAMES, failures=["step 2: refused"], **{"not shown": ["step 3: the isr"]})
    failed = Done("link", "00", "epoch", "v", {}, ["TypeError"], "never shown")
    report = report_of([bad, failed], {"00": about})
    targets = {each.name: each.value for each in report.targets}
    assert targets["steps that failed or did not show what they should"] == 2
    assert targets["parts that failed"] == 1
    assert targets["errors in the browser's console"] == 1
    assert report.figures["link 00 epoch"] == "never shown"


def test_the_memory_of_the_minutes_is_the_largest_look(about: dict[str, Any]) -> None:
    looks = [{"memory, MB": mb, "virtual seconds": 10.0 * mb} for mb in (500, 640, 620)]
    done = Done("minutes", "00", "30", "v", {"looks": looks}, [], "")
    assert figures_of(done, {"00": about})["memory of the tab, MB"] == 640
    report = report_of([done], {"00": about})
    over = next(each for each in report.targets if each.name == "MB after minutes 00 30")
    assert (over.value, over.holds) == (640, False)


def test_a_run_on_processes_that_writes_no_values_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_course, "python_command", lambda *words: ["sh", "-c", "echo no >&2"])
    result = live_course.on_processes("00")
    assert result["failed"] == "chapter 00 --fast: no"
