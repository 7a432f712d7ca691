"""Each chapter runs on a real cluster, in the dashboard, and the run agrees with the chapter's
page.

Chapters that need Spark have this test in the folder tests/spark.
"""

from pathlib import Path

import pytest

from chapters.chapter import Chapter, find_chapters
from kafka_edu.zk.apache import ApacheZooKeeperError, check_installed
from tests.drawn import drawn
from tests.tui.live_chapter import check_live_chapter
from tui.presenter.run import screen_names

pytestmark = pytest.mark.tui

CHAPTERS = [one for one in find_chapters().values() if not one.needs()]
SOME = drawn(CHAPTERS, 4)
"""Those that are run from end to end: half a minute each. All have their recording as a test."""


@pytest.mark.parametrize("one", SOME, ids=lambda one: one.number)
def test_a_chapter_runs_live_and_its_page_holds(one: Chapter, tmp_path: Path) -> None:
    check_live_chapter(one, tmp_path)


@pytest.mark.parametrize(
    "one",
    [part for one in CHAPTERS for part in one.parts().values()],
    ids=lambda one: one.id,
)
def test_a_part_of_a_chapter_runs_live_and_its_page_holds(one: Chapter, tmp_path: Path) -> None:
    if one.script(screen_names()).cluster.zookeeper == "apache":
        try:
            check_installed()
        except ApacheZooKeeperError as error:
            pytest.skip(str(error))
    check_live_chapter(one, tmp_path)


@pytest.mark.parametrize("one", [one for one in find_chapters().values() if one.needs()])
def test_the_dashboard_shows_the_recording_of_a_chapter_with_jobs(
    one: Chapter, tmp_path: Path
) -> None:
    check_live_chapter(one, tmp_path, "--replay")
