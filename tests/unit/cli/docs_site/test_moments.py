"""Links from a chapter's page to its moments in the live page."""

from pathlib import Path

import pytest

from kafka_edu.cli.docs_site.links import rewrite
from kafka_edu.cli.docs_site.live.chapters import (
    Chapters,
    chapters_of,
    version_of,
    write_chapters,
)
from kafka_edu.cli.docs_site.live.moments import with_moments
from kafka_edu.cli.docs_site.tree import Tree

ROOT = Path(__file__).resolve().parents[4]
PAGE = "chapters/ch00_first_lesson/README.md"


def test_only_a_number_with_a_moment_gets_a_link() -> None:
    text = "**6000**<!-- exact: session_ms --> and **9**<!-- range: drawn 1..9 -->"
    linked = with_moments(text, "00", ["session_ms"], "live/index.html")
    assert linked.count("<a ") == 1
    assert '--><a class="rewind" href="live/index.html#chapter=00&amp;fact=session_ms"' in linked


def test_a_chapter_of_the_site_links_to_the_live_page_only_if_there_is_one() -> None:
    link = 'href="../../live/index.html#chapter=00&amp;fact=elected_at"'
    assert "rewind" not in rewrite(Tree(ROOT), PAGE).text
    assert link in rewrite(Tree(ROOT, {PAGE: ("00", ["elected_at"])}), PAGE).text


@pytest.fixture(scope="module")
def chapters() -> Chapters:
    return chapters_of(ROOT)


def test_the_version_of_a_link_is_that_of_what_decides_a_run(chapters: Chapters) -> None:
    now = version_of(ROOT, chapters)
    assert version_of(ROOT, chapters) == now
    other = chapters[0] | {"script": chapters[0]["script"] + "# another step"}
    assert version_of(ROOT, [other, *chapters[1:]]) != now


def test_the_page_has_the_first_chapters_with_their_texts(
    tmp_path: Path, chapters: Chapters
) -> None:
    write_chapters(ROOT, tmp_path, chapters)
    listed = [path.stem for path in sorted((tmp_path / "chapters").glob("[0-9]*.json"))]
    assert listed == [*(f"{number:02}" for number in range(9)), "18"]
    text = (tmp_path / "chapter-02.html").read_text(encoding="utf-8")
    assert '<a class="rewind" href="#chapter=02&amp;fact=' in text
    assert "<!--" not in text
    for picture in [part.partition('"')[0] for part in text.split('src="')[1:]]:
        assert (tmp_path / picture).is_file()


def test_the_facts_of_a_chapter_are_those_of_the_steps_that_run(chapters: Chapters) -> None:
    by_id = {one["id"]: one for one in chapters}
    assert {"killed_at", "elected_at", "session_ms"} <= set(by_id["00"]["facts"])
    assert "took_a" not in by_id["03"]["facts"], "the time that a processor needs"
    assert by_id["01"]["left_out"] == [4, 5, 12, 13]


@pytest.mark.parametrize("number", ["00", "02"])
def test_a_lesson_of_the_page_is_that_of_the_terminal(number: str, tmp_path: Path) -> None:
    import json

    from chapters.chapter import find_chapters
    from chapters.page_files import data_of
    from chapters.simulated import scenario_text, simulated
    from kafka_edu.common.python_process import command_line
    from page.lesson import lesson_of
    from tui.presenter.run import screen_names

    chosen = find_chapters()[number]
    script = chosen.script(screen_names())
    lesson = lesson_of(json.dumps(data_of(chosen)), tmp_path)
    replay = command_line(f"{chosen.command} --replay")
    assert lesson.scenario == scenario_text(number, script)
    assert lesson.script.steps == simulated(number, script, replay).script.steps
