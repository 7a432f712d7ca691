"""The Requests screen on a real cluster answers its question: where is the time spent?

A key of the screen gives the broker only one io thread. Topics are created all the time, and each
creation occupies this thread until ZooKeeper has answered. Meanwhile the produces wait in the
queue.
"""

import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.events.server import RequestDequeued
from tests.tui.live_app import LiveApp, run_live
from tests.tui.record_groups import TOPIC, create_topics, produce
from tui.model import Model

pytestmark = pytest.mark.tui


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with running_cluster("requests", brokers=1, home=tmp_path / "home") as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        for future in admin.create_topics([NewTopic(TOPIC, 6, 1)]).values():
            future.result()
        yield cluster


def every_row_is_whole(model: Model) -> bool:
    """Return whether all hops of every request on the screen are known. Of a slow request from
    before the key `h` was pressed, some hops were not emitted.
    """
    hops = model.requests.latest_hops().values()
    return bool(hops) and all(any(isinstance(h.event, RequestDequeued) for h in of) for of in hops)


def test_with_few_io_threads_the_time_goes_to_the_queue(cluster: Cluster) -> None:
    spawning = multiprocessing.get_context("spawn")  # threads would share the dashboard's core
    stop = spawning.Event()
    bootstrap = cluster.bootstrap_servers
    backlog = [
        spawning.Process(
            target=produce, args=(bootstrap, stop), kwargs={"producers": 12, "batch": 2}
        ),
        spawning.Process(target=create_topics, args=(bootstrap, stop)),
    ]

    async def look(screen: LiveApp) -> None:
        await screen.press("8")
        await screen.shows("b0 queue 0/500", "handlers 0/8")
        await screen.press("i")
        await screen.see(lambda s: "handlers 0/1" in s or "handlers 1/1" in s, "one handler")
        for load in backlog:
            load.start()
        await screen.shows(
            "of the time goes to the request queue",
            "1 handler, 8 before num.io.threads was changed",
            "CreateTopics is",
            "b0 Produce",
        )
        await screen.press("h")
        await screen.shows("Produce till-", "the latest requests", "hop by hop")
        await screen.see(lambda _: every_row_is_whole(screen.app.model), "all hops of each row")
        await screen.press("enter")
        await screen.shows("how its time was spent", "request queue", "takes ", "answers ")
        await screen.press("escape")
        await screen.press("h")
        await screen.press("i")
        await screen.see(lambda s: "/8" in s, "eight handlers again")

    try:
        run_live(cluster, look)
    finally:
        stop.set()
        for load in backlog:
            if load.pid is not None:
                load.join()
