"""Chapters on a simulated cluster, in virtual time: they are played without keys, and a learner
goes back to an earlier step.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from chapters.chapter import find_chapters
from chapters.left_cluster import LeftCluster
from chapters.simulated import scenario_text
from kafka_edu.instruments.presenter.bookmark import Bookmark
from kafka_edu.instruments.presenter.presentation import Phase, Presentation, SavedPlace
from tests.drawn import drawn
from tests.tui.live_app import LiveApp
from tests.tui.live_chapter import check_live_chapter
from tui.presenter.presenter_app import PresenterApp
from tui.presenter.run import Scene, screen_names, simulated_scene

pytestmark = pytest.mark.tui

CHAPTERS = find_chapters()
SOME = drawn([number for number in CHAPTERS if "00" < number <= "08"], 1)
"""Those that run from end to end: ten seconds of processor time each. All of them are scenarios as
a quick test.
"""


@pytest.mark.parametrize("number", SOME)
def test_the_page_of_a_chapter_holds_in_virtual_time(number: str, tmp_path: Path) -> None:
    check_live_chapter(CHAPTERS[number], tmp_path, "--sim", "--plain")


def test_the_dashboard_runs_a_chapter_in_virtual_time(tmp_path: Path) -> None:
    check_live_chapter(CHAPTERS["00"], tmp_path, "--sim")


async def kill_and_begin_again(app: PresenterApp, dashboard: LiveApp) -> None:
    at = app.presentation
    await dashboard.shows("1/5 · Records arrive", "▶ sim", "future 1")
    await dashboard.press("space")
    await dashboard.shows("✓ the HW of a partition of `web` rises")
    await dashboard.press("space", "space", "3", "1")
    await dashboard.shows("✓ the process has ended", "[R] this step again")
    assert at.phase is Phase.ANSWER
    victim = at.names["victim"]

    await dashboard.press("R")
    await dashboard.shows("2/5 · Kill a leader", "future 2")
    await dashboard.see(lambda _: at.phase is Phase.NARRATION, "the begin of the step")
    assert (at.step, at.names, at.choices) == (1, {}, {})
    await dashboard.press("1")
    brokers = app.model.cluster.brokers.by_id
    await dashboard.see(lambda _: brokers[int(victim)].process == "running", "it lives again")

    await dashboard.press("space", "space")
    await dashboard.shows("✓ the process has ended")
    assert at.names["victim"] == victim
    await dashboard.press("backspace")
    await dashboard.shows("1/5 · Records arrive", "behind", "[R] this step again")
    await dashboard.press("R")
    await dashboard.shows("future 3", "1/5 · Records arrive", "no topics yet")
    await dashboard.press("space")
    await dashboard.shows("✓ the HW of a partition of `web` rises", "load web")


def test_a_step_begins_again_with_the_cluster_of_that_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path))
    one = CHAPTERS["00"]
    script = one.script(screen_names())
    file = tmp_path / "chapter.sim"
    file.write_text(scenario_text(one.id, script), encoding="utf-8")

    async def run(scene: Scene) -> None:
        bookmark = Bookmark(one.script_file, script.digest, "sim", tmp_path)
        presentation = Presentation(script, live=True)
        app = PresenterApp(presentation, bookmark, "00", folder=scene.folder, feed=scene.feed)
        async with app.run_test(size=(120, 44)) as pilot:
            await kill_and_begin_again(app, LiveApp(app, pilot))

    with simulated_scene("chapter-00", file, hurry=False) as scene:
        asyncio.run(run(scene))
    assert not list((tmp_path / "clusters").glob("*"))


async def leave_in_the_third_step(app: PresenterApp, dashboard: LiveApp) -> None:
    at = app.presentation
    await dashboard.shows("1/5 · Records arrive", "▶ sim")
    await dashboard.press("space")
    await dashboard.shows("✓ the HW of a partition of `web` rises")
    await dashboard.press("space", "space", "3", "1")
    await dashboard.shows("✓ the process has ended")
    await dashboard.press("space")
    await dashboard.shows("3/5 ·")
    assert at.step == 2


async def go_on_there(app: PresenterApp, dashboard: LiveApp) -> None:
    at = app.presentation
    await dashboard.shows("3/5 ·", "▶ sim", "future 1")
    assert (at.step, at.phase) == (2, Phase.NARRATION)
    victim = at.names["victim"]
    brokers = app.model.cluster.brokers.by_id
    await dashboard.see(lambda _: brokers[int(victim)].process != "running", "it is still dead")
    await dashboard.press("backspace")
    await dashboard.shows("2/5 · Kill a leader")
    assert not at.may_begin_again(), "the begin of an earlier step is gone"


def test_a_learner_who_leaves_goes_on_at_the_begin_of_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the learner comes back, the simulated cluster no longer exists. So its run is executed
    again, with the learner's acts.
    """
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path))
    one = CHAPTERS["00"]
    script = one.script(screen_names())
    file = tmp_path / "chapter.sim"
    text = scenario_text(one.id, script)
    file.write_text(text, encoding="utf-8")

    async def run(
        scene: Scene, drive: Callable[[PresenterApp, LiveApp], Awaitable[None]]
    ) -> tuple[SavedPlace, int]:
        bookmark = Bookmark(one.script_file, script.digest, scene.key, tmp_path)
        presentation = Presentation(script, live=True, place=bookmark.load())
        app = PresenterApp(presentation, bookmark, "00", folder=scene.folder, feed=scene.feed)
        async with app.run_test(size=(120, 44)) as pilot:
            await drive(app, LiveApp(app, pilot))
        place, left_us = presentation.step_begun()
        bookmark.save(place)
        return place, left_us

    with simulated_scene("chapter-00", file, hurry=False) as scene:
        place, left_us = asyncio.run(run(scene, leave_in_the_third_step))
        LeftCluster.of(scene, text, left_us).save("00", script.digest)
    assert LeftCluster.load("00", "another script") is None
    left = LeftCluster.load("00", script.digest)
    assert left is not None
    assert left.text.count("\n> at ") >= 1, "the kill, and the load"
    file.write_text(left.text, encoding="utf-8")
    with simulated_scene("chapter-00", file, hurry=False, reach_us=left.at_us) as scene:
        assert scene.resumes
        again, _ = asyncio.run(run(scene, go_on_there))
    assert again._replace(seen=()) == place, "nothing of the step was seen"
    LeftCluster.forget("00")
    assert LeftCluster.load("00", script.digest) is None
