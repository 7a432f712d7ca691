"""The Purgatory screen on a real cluster: a follower is paused through the app, and the screen
names it, the records that it lacks, and what ended the waits.
"""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.tui.live_app import LiveApp, run_live
from tests.tui.stories import AcksAll, PatientConsumer, controller_of, create_topic

pytestmark = pytest.mark.tui


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    props = {
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        # How long requests wait for a paused follower. Meanwhile the screen has to show it.
        "zookeeper.session.timeout.ms": "30000",
        "replica.lag.time.max.ms": "30000",
    }
    with running_cluster("purgatory", home=tmp_path / "home", props=props) as cluster:
        yield cluster


def test_a_paused_follower_is_named_with_the_records_that_it_lacks(cluster: Cluster) -> None:
    bootstrap = cluster.bootstrap_servers
    controller = controller_of(bootstrap)
    leader, follower = sorted(set(cluster.broker_ids) - {controller}, reverse=True)
    create_topic(bootstrap, "web", [leader, controller, follower], min_insync_replicas="2")

    async def test(app: LiveApp) -> None:
        await app.press("3")
        await app.see(lambda s: "from web-log-" in s or "HW moved: broker" in s, "the load")
        seen = await app.see(
            lambda s: f"HW moved: broker {follower} fetched" in s, "what ends produces"
        )
        assert "typical wait" in seen

        await app.select(follower)
        await app.press("p")
        await app.press("3")
        behind = re.compile(
            rf"wait for broker {follower}: [\d,]+ records? behind, last fetch .* ago"
        )
        text = await app.see(
            lambda s: bool(behind.search(s)) and f"✗ broker {follower} LEO" in s,
            "that requests wait for the paused broker",
        )
        assert f"would finish it: broker {follower} fetches" in text
        assert "leaves the" in text
        assert "REQUEST_TIMED_OUT" in text
        needs = re.search(r"needs web-0: HW ≥ ([\d,]+), is ([\d,]+)", text)
        lacks = re.search(rf"✗ broker {follower} LEO ([\d,]+): ([\d,]+) behind", text)
        assert needs is not None, text
        assert lacks is not None, text
        at_least, leo, missing = (
            int(digits.replace(",", "")) for digits in (needs[1], lacks[1], lacks[2])
        )
        assert at_least - leo == missing > 0

        text = await app.see(
            lambda s: "HW moved: new leader epoch" in s or "HW moved: the ISR changed" in s,
            "that the waits ended when the broker had left the ISR",
        )
        await app.see(
            lambda s: f"wait for broker {follower}" not in s, "that nobody waits for it any more"
        )
        await app.select(follower)
        await app.press("r")
        await app.press("3")
        await app.see(
            lambda s: f"HW moved: broker {follower} fetched" in s, "that the follower is back"
        )

    with AcksAll(bootstrap, "web"):
        run_live(cluster, test)


def test_a_consumer_that_wants_many_bytes_waits_for_them(cluster: Cluster) -> None:
    bootstrap = cluster.bootstrap_servers
    create_topic(bootstrap, "web", [0])

    async def test(app: LiveApp) -> None:
        await app.press("3")
        await app.see(lambda s: "Fetch" in s, "the purgatory of fetches")
        while "[Fetch" not in app.text():
            await app.press("t")
            await asyncio.sleep(0)
        text = await app.see(
            lambda s: (
                "fetch web-0 for a consumer from patient #" in s
                and "more are committed in web-0" in s
            ),
            "why the fetch waits",
        )
        assert "a consumer: 1,000,000 B up to the last stable offset, has 0 B" in text
        assert "then it sends what there is" in text
        await app.see(lambda s: "time-out, a consumer" in s, "that its time-outs are counted")

    with PatientConsumer(bootstrap, "web", 1_000_000, 2_000):
        run_live(cluster, test)
