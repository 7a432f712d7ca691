"""Each chapter that needs Spark runs on a real cluster with a real Spark, and the run agrees with
the chapter's page.
"""

from pathlib import Path

import pytest

from chapters.chapter import Chapter, find_chapters
from tests.tui.live_chapter import check_live_chapter

pytestmark = pytest.mark.spark

CHAPTERS = [one for one in find_chapters().values() if one.needs()]


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("one", CHAPTERS, ids=lambda one: one.number)
def test_a_chapter_runs_live_and_its_page_holds(one: Chapter, tmp_path: Path) -> None:
    assert one.needs()[0] == "spark"
    # The dashboard would take the processor from Spark; it shows the recording in another test.
    check_live_chapter(one, tmp_path, "--plain", timeout_s=1100)
