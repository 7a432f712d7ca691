"""The controller's queue and its task."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from kafka_edu.common.time import MockTime
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_event_manager import ControllerEventManager
from kafka_edu.controller.controller_events import (
    BrokerChange,
    ControlledShutdown,
    ControllerEvent,
    Expire,
    Reelect,
    TopicChange,
)

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster


def test_every_fact_of_an_event_names_its_cause(cluster: "ControllerCluster") -> None:
    """One chain of causes: znode → watch → queued → started → elected."""
    cluster.start(1, 2)
    cluster.create_topic("t", [1, 2])
    envelopes = {e.seq: e for e in cluster.controller.events.events}
    elected = next(e for e in envelopes.values() if e.name == "LeaderElected")
    chain = []
    while elected.cause:
        elected = envelopes[elected.cause]
        chain.append(elected.name)
    assert chain == ["ControllerEventStarted", "ControllerEventQueued", "ZkWatchFired"]


class Bench:
    """A queue whose events are processed as the test says."""

    def __init__(self) -> None:
        self.processed: list[ControllerEvent] = []
        self.go_on = asyncio.Event()
        self.manager = ControllerEventManager(self._process, MockTime(), None)

    async def _process(self, event: ControllerEvent) -> str:
        self.processed.append(event)
        await self.go_on.wait()
        return ""


def test_events_are_processed_one_after_the_other_in_the_order_of_arrival() -> None:
    async def scenario() -> None:
        bench = Bench()
        bench.manager.start()
        for event in (BrokerChange(), TopicChange(), Reelect()):
            bench.manager.put(event)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert bench.processed == [BrokerChange()], "the first one waits, so no other begins"
        assert bench.manager.size == 2
        bench.go_on.set()
        while bench.manager.size:
            await asyncio.sleep(0)
        assert bench.processed == [BrokerChange(), TopicChange(), Reelect()]
        await bench.manager.close()

    asyncio.run(scenario())


def test_an_expired_session_drops_the_others_and_fails_their_callers() -> None:
    async def scenario() -> None:
        bench = Bench()
        answer: asyncio.Future[list[TopicPartition]] = asyncio.get_running_loop().create_future()
        bench.manager.put(ControlledShutdown(1, 1, answer))
        bench.manager.put(TopicChange())
        bench.manager.clear_and_put(Expire())
        assert bench.manager.size == 1
        with pytest.raises(ConnectionError, match="session has expired"):
            await answer
        bench.go_on.set()
        bench.manager.start()
        while bench.manager.size:
            await asyncio.sleep(0)
        assert bench.processed == [Expire()]
        await bench.manager.close()

    asyncio.run(scenario())
