"""The feed of a simulated run: the order of its events, its virtual clock, and jumps back in the
run.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import MockTime, SystemTime
from kafka_edu.instruments.link_events import ClusterKnown, LinkLost, LinkMade
from kafka_edu.instruments.stage_feed import StageFeed, published
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import SUPERVISOR, Envelope, Source
from kafka_edu.trace.events.simulation import SimulationSampled
from kafka_edu.trace.events.supervisor import ProcessEnded, ProcessPaused, ProcessSnapshot
from kafka_edu.trace.socket_sink import EventServer
from kafka_edu.trace.tracer import Tracer
from tests.waiting import PATIENCE_S

BROKER = Source.of_broker(1)


def sampled(at_us: int, state: str = "running", turns: int = 0) -> SimulationSampled:
    return SimulationSampled(
        state=state,
        at_us=at_us,
        run_us=0,
        speed_percent=100,
        unit="event",
        future=1,
        turns=turns,
    )


class Simulated:
    """An event socket that sends what the test emits, and the feed that reads it."""

    def __init__(self, folder: ClusterFolder) -> None:
        self.trace = Tracer(SUPERVISOR, MockTime(0))
        self.server = EventServer(
            self.trace, SocketTransport(), SystemTime(), "token", ring_minutes=0
        )
        self.feed = StageFeed(published(folder.supervisor_events))

    async def until(self, wanted: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not wanted():
                await asyncio.sleep(0.01)

    async def take(self, last: type) -> list[Envelope]:
        """Send what was emitted, and return what the feed hands on, up to an event of this type."""
        self.server.flush()
        taken: list[Envelope] = []

        def has_last() -> bool:
            taken.extend(self.feed.drain())
            return any(isinstance(envelope.event, last) for envelope in taken)

        await self.until(has_last)
        return taken


def with_feed(tmp_path: Path, test: Callable[[Simulated], Awaitable[None]]) -> None:
    async def run() -> None:
        folder = ClusterFolder(tmp_path)
        simulated = Simulated(folder)
        await simulated.server.publish(folder.supervisor_events)
        reading = asyncio.create_task(simulated.feed.run())
        try:
            await simulated.until(lambda: simulated.server.watched)
            await test(simulated)
        finally:
            reading.cancel()
            simulated.server.close()

    asyncio.run(run())


def test_its_clock_is_that_of_the_simulation_and_it_knows_which_processes_run(
    tmp_path: Path,
) -> None:
    async def test(simulated: Simulated) -> None:
        trace, feed = simulated.trace, simulated.feed
        trace(ProcessSnapshot(process="broker-1", child=BROKER, state="running", pid=0, port=9093))
        trace(sampled(1_500_000))
        taken = await simulated.take(SimulationSampled)
        made = [e.source for e in taken if isinstance(e.event, LinkMade)]
        assert BROKER in made
        assert feed.complete()
        assert feed.now_us() == 1_500_000
        assert [e.mono_us for e in taken if isinstance(e.event, SimulationSampled)] == [1_500_000]

        trace(sampled(1_500_000))
        trace(ProcessSnapshot(process="broker-1", child=BROKER, state="stopped", pid=0, port=9093))
        taken = await simulated.take(LinkLost)
        assert not [e for e in taken if isinstance(e.event, SimulationSampled)], "the same moment"
        assert len([e for e in taken if isinstance(e.event, ClusterKnown)]) <= 1

    with_feed(tmp_path, test)


def test_events_come_in_the_order_of_their_times(tmp_path: Path) -> None:
    async def test(simulated: Simulated) -> None:
        simulated.trace(sampled(8_000_000))
        simulated.trace(ProcessPaused(process="broker-1", child=BROKER, pid=0))  # of time 0
        taken = await simulated.take(ProcessPaused)
        assert [e.mono_us for e in taken if isinstance(e.event, ProcessPaused)] == [8_000_000]

    with_feed(tmp_path, test)


def test_it_stops_where_the_run_goes_back(tmp_path: Path) -> None:
    async def test(simulated: Simulated) -> None:
        trace, feed = simulated.trace, simulated.feed
        trace(sampled(8_000_000))
        await simulated.take(SimulationSampled)
        assert not feed.went_back()
        trace(sampled(2_000_000, "replaying"))
        trace(sampled(2_000_000, "paused", turns=1))
        trace(ProcessPaused(process="broker-1", child=BROKER, pid=0))
        simulated.server.flush()

        def stands_there() -> bool:
            assert feed.drain() == [], "nothing of the past is handed on twice"
            return feed.went_back()

        await simulated.until(stands_there)
        assert feed.now_us() == 2_000_000
        taken = await simulated.take(ProcessPaused)
        assert isinstance(taken[-1].event, ProcessPaused)
        assert feed.simulation is not None
        assert feed.simulation.turns == 1

    with_feed(tmp_path, test)


def test_the_links_are_those_of_the_moment_to_which_the_run_goes_back(tmp_path: Path) -> None:
    async def test(simulated: Simulated) -> None:
        trace, feed = simulated.trace, simulated.feed
        ended = ProcessEnded(
            process="broker-1", child=BROKER, pid=0, code=0, signal="SIGKILL", asked=True
        )
        trace(sampled(0))
        trace(ProcessSnapshot(process="broker-1", child=BROKER, state="running", pid=0, port=9093))
        assert isinstance(trace.time, MockTime)
        trace.time.advance(3_000)
        trace(ended)
        trace(sampled(5_000_000))
        taken = await simulated.take(LinkLost)
        linked = [e.source for e in taken if isinstance(e.event, LinkMade | LinkLost)]
        assert linked == [SUPERVISOR, BROKER, BROKER]
        trace(sampled(2_000_000, "paused", turns=1))
        simulated.server.flush()

        def stands_there() -> bool:
            feed.drain()
            return feed.went_back()

        await simulated.until(stands_there)
        assert feed.complete(), "the broker runs at that moment"
        trace(ended)
        taken = await simulated.take(LinkLost)
        assert [e.source for e in taken if isinstance(e.event, LinkMade | LinkLost)] == [BROKER]
        assert not feed.complete()

    with_feed(tmp_path, test)


def test_it_stands_while_nothing_has_happened_since_the_newest_sample(tmp_path: Path) -> None:
    async def test(simulated: Simulated) -> None:
        trace, feed = simulated.trace, simulated.feed
        assert not feed.stands, "nothing is known yet"
        trace(sampled(1_000, "paused"))
        await simulated.take(SimulationSampled)
        assert feed.stands
        trace(ProcessPaused(process="broker-1", child=BROKER, pid=0))
        await simulated.take(ProcessPaused)
        assert not feed.stands, "the run goes on"
        trace(sampled(2_000, "replaying", turns=1))
        trace(sampled(2_000, "paused", turns=1))
        simulated.server.flush()
        await simulated.until(feed.went_back)
        assert not feed.stands, "not everything is handed on"
        await simulated.until(lambda: not feed.drain() and feed.stands)

    with_feed(tmp_path, test)


def test_events_after_a_sample_wait_until_it_may_pass(tmp_path: Path) -> None:
    async def test(simulated: Simulated) -> None:
        trace, feed = simulated.trace, simulated.feed
        arrived: list[int] = []
        feed.on_sample = lambda sample: arrived.append(sample.at_us)
        passes = False
        feed.may_pass = lambda sample: passes or sample.at_us < 2_000_000
        trace(sampled(1_000_000))
        trace(sampled(2_000_000))
        trace(ProcessPaused(process="broker-1", child=BROKER, pid=0))
        simulated.server.flush()
        await simulated.until(lambda: arrived == [1_000_000, 2_000_000])
        taken = feed.drain()
        assert feed.now_us() == 1_000_000
        assert not [e for e in taken if isinstance(e.event, ProcessPaused)]
        assert [sample.at_us for sample in feed.waiting_samples()] == [2_000_000]
        passes = True
        taken = await simulated.take(ProcessPaused)
        assert feed.now_us() == 2_000_000
        assert feed.waiting_samples() == []

    with_feed(tmp_path, test)
