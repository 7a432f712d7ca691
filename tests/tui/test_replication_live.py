"""The Replication screen on a real cluster: a follower lags, its leader is killed through the app,
and the screen shows how many records the old leader cuts off when it starts again.
"""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.tui.live_app import LiveApp, run_live
from tests.tui.stories import controller_of, create_topic, produce

pytestmark = pytest.mark.tui


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    # A paused follower must keep its session, and stay in the ISR, until its leader is killed. On a
    # busy machine that took more than 10 s.
    props = {"zookeeper.session.timeout.ms": "30000", "replica.lag.time.max.ms": "60000"}
    with running_cluster("replication", home=tmp_path / "home", props=props) as cluster:
        yield cluster


def test_what_a_killed_leader_throws_away_is_shown_in_numbers(cluster: Cluster) -> None:
    bootstrap = cluster.bootstrap_servers
    controller = controller_of(bootstrap)
    leader, follower = sorted(set(cluster.broker_ids) - {controller}, reverse=True)
    create_topic(bootstrap, "web", [leader, follower])
    produce(bootstrap, "web", 20, "all")

    async def test(app: LiveApp) -> None:
        await app.press("4")
        await app.see(
            lambda s: "every replica keeps up" in s and "LEO 200" in s, "that all is well"
        )
        await app.see(lambda s: f"▶ broker {follower}" in s, "the follower selected")
        await app.press("p")
        await app.see(lambda s: f"broker {follower} is paused" in s, "that it is paused")
        await asyncio.to_thread(produce, bootstrap, "web", 6, "1")

        text = await app.see(
            lambda s: f"broker {follower} lags in web-0: 60 behind" in s and "LEO 260" in s,
            "that the follower lags",
        )
        assert "60 not committed yet" in text

        await app.select(leader)
        await app.press("k", "y")
        await app.see(lambda s: "killed (SIGKILL)" in s, "that the leader is dead")
        await app.select(follower)
        await app.press("r")
        await app.press("4")
        await app.see(lambda s: "web-0 has no live leader" in s, "that nobody leads")
        await app.see(
            lambda s: f"leader broker {follower}" in s and "· epoch 1" in s, "the new leader"
        )

        await app.select(leader)
        await app.press("s")
        await app.press("4")
        cut = re.compile(rf"broker {leader} cut off (\d+) records, 260 → (\d+), none committed")
        text = await app.see(lambda s: bool(cut.search(s)), "the truncation")
        found = cut.search(text)
        assert found is not None
        records, to = int(found[1]), int(found[2])
        assert 260 - to == records
        assert 200 <= to < 260, "what had been committed is still there"
        assert f"leader broker {follower} has no more of epoch 0" in text
        text = await app.see(
            lambda s: "has all" in s and "because broker" in s, "that the old leader is back"
        )
        assert re.search(rf"epochs +0 from 0  1 from {to}\b", text), text

    run_live(cluster, test)
