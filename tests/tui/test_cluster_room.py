"""The Cluster screen gives most of its rows to the parts that need them. Kafka's internal topics
get the fewest rows.
"""

import asyncio

import pytest
from textual.pilot import Pilot

from kafka_edu.trace.events.controller import ControllerPartitionSnapshot, ControllerSnapshot
from kafka_edu.trace.events.trace import SnapshotBegins, SnapshotEnds
from tests.tui.paused_app import Ask, screen_text
from tests.unit.tui.story_of_events import Story
from tui.app import DashboardApp
from tui.widgets.partition_matrix import MatrixRows

pytestmark = pytest.mark.tui


def cluster_with(topics: dict[str, int]) -> Story:
    """Return the controller's snapshot of topics with these numbers of partitions."""
    story = Story()
    story.tell(0, SnapshotBegins(as_of=0))
    snapshot = ControllerSnapshot(
        active=True, controller_id=0, epoch=1, epoch_zk_version=1, queue_size=0
    )
    story.tell(0, snapshot)
    for topic, partitions in topics.items():
        for partition in range(partitions):
            story.tell(
                0,
                ControllerPartitionSnapshot(
                    topic=topic,
                    partition=partition,
                    state="OnlinePartition",
                    replicas=(0,),
                    replica_states=("OnlineReplica",),
                    leader=0,
                    leader_epoch=0,
                    isr=(0,),
                    zk_version=0,
                ),
            )
    story.tell(0, SnapshotEnds(events=0))
    return story


def look(
    topics: dict[str, int],
    size: tuple[int, int],
    ask: Ask,
) -> None:
    async def run() -> None:
        app = DashboardApp("demo")
        async with app.run_test(size=size) as pilot:
            app.model.apply(cluster_with(topics).envelopes)
            for _ in range(3):  # rows are given out by what the last look found
                app.look()
                await pilot.pause()
            await ask(pilot, app)

    asyncio.run(run())


@pytest.mark.parametrize("partitions", [8, 30, 38])
def test_partitions_do_not_scroll_while_rows_are_empty(partitions: int) -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        rows = app.screen.query_one(MatrixRows)
        assert rows.count() == partitions
        assert rows.size.height >= partitions, "nothing has happened: the strip needs few rows"

    look({"web": partitions}, (200, 60), ask)


def test_kafkas_own_topic_is_one_row_below_the_users_and_unfolds() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        rows = app.screen.query_one(MatrixRows)
        assert rows.count() == 3
        text = screen_text(app.screen)
        assert text.index("web-0") < text.index("▸ __consumer_off")
        assert "50 partitions · all in sync" in text
        assert "__consumer_offsets-7" not in text
        rows.focus()
        await pilot.pause()  # the focus is set a moment later
        rows.cursor = 2
        await pilot.press("enter")
        await pilot.pause()
        assert rows.count() == 53
        assert "▾ __consumer_off" in screen_text(app.screen)

    look({"__consumer_offsets": 50, "web": 2}, (120, 40), ask)


def test_a_view_that_gets_its_events_late_says_so() -> None:
    async def ask(pilot: Pilot[None], app: DashboardApp) -> None:
        assert "▶ live" in screen_text(app.screen)
        app.model.late_us = 4_200_000
        app.look()
        await pilot.pause()
        assert "▶ 4.2 s late" in screen_text(app.screen)

    look({"web": 2}, (120, 40), ask)
