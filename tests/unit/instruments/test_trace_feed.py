"""One stream of events from many processes: their order, a process that goes and returns, and a
process that does not exist yet.
"""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import SystemTime, Time
from kafka_edu.instruments.backlog import BEHIND_US, HOLD_BACK_US, SKIP_US
from kafka_edu.instruments.link_events import LinkLost, LinkMade
from kafka_edu.instruments.trace_feed import TraceFeed, now_us
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import Envelope, Event, Level, Source
from kafka_edu.trace.events.network import ConnectionSnapshot
from kafka_edu.trace.events.server import RequestDequeued
from kafka_edu.trace.events.supervisor import ActionAsked
from kafka_edu.trace.events.trace import Gap, SnapshotBegins, SnapshotEnds
from kafka_edu.trace.socket_sink import EventServer
from kafka_edu.trace.tracer import Tracer
from tests.waiting import PATIENCE_S

LATE_NS = 5_000_000_000
FAR_FUTURE_US = 10**15


class LateTime(SystemTime):
    """A clock that is late, so that its events are old when they arrive."""

    late_ns = LATE_NS

    def nanoseconds(self) -> int:
        return super().nanoseconds() - self.late_ns


class Teller:
    """A process that emits its events, without being one."""

    def __init__(self, folder: ClusterFolder, broker: int, time: Time | None = None) -> None:
        self.tracer = Tracer(Source.of_broker(broker), time or SystemTime())
        self._transport = SocketTransport()
        self._server = EventServer(self.tracer, self._transport, SystemTime(), "secret")
        self._path = folder.broker_events(broker) if broker >= 0 else folder.supervisor_events
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        port = await self._server.listen()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(
            json.dumps({"host": "127.0.0.1", "port": port, "token": "secret", "pid": 7}),
            encoding="utf-8",
        )
        self._task = asyncio.create_task(self._server.run())

    def end(self) -> None:
        """End like a killed process: its sockets close, and the supervisor removes its file."""
        self._path.unlink()
        self._server.close()
        for subscriber in tuple(self._server._subscribers):
            subscriber._wire.close()
        if self._task is not None:
            self._task.cancel()


def listening(
    tmp_path: Path,
    play: Callable[
        [ClusterFolder, Callable[[Callable[[Envelope], bool]], Awaitable[Envelope]]],
        Awaitable[None],
    ],
) -> None:
    """Run a test with a feed.

    `until(wanted)` waits for an event from the feed. If none comes in time, it raises TimeoutError.
    """

    async def run() -> None:
        folder = ClusterFolder(tmp_path / "c")
        folder.path.mkdir()
        feed = TraceFeed(folder)
        reading = asyncio.create_task(feed.run())

        async def until(wanted: Callable[[Envelope], bool]) -> Envelope:
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    for envelope in feed.drain(FAR_FUTURE_US):
                        if wanted(envelope):
                            return envelope
                    await asyncio.sleep(0.02)

        try:
            await play(folder, until)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    asyncio.run(run())


def test_a_process_is_found_heard_lost_and_found_again(tmp_path: Path) -> None:
    async def play(
        folder: ClusterFolder, until: Callable[[Callable[[Envelope], bool]], Awaitable[Envelope]]
    ) -> None:
        teller = Teller(folder, 1)
        await teller.start()
        made = await until(lambda e: isinstance(e.event, LinkMade))
        assert (made.broker, made.event) == (1, LinkMade(7))
        teller.tracer(ActionAsked(action="kill", target=Source.of_broker(1)))
        assert (await until(lambda e: isinstance(e.event, ActionAsked))).event == ActionAsked(
            action="kill", target=Source.of_broker(1)
        )
        teller.end()
        assert (await until(lambda e: isinstance(e.event, LinkLost))).broker == 1
        again = Teller(folder, 1)
        await again.start()
        assert (await until(lambda e: isinstance(e.event, LinkMade))).broker == 1
        again.end()

    listening(tmp_path, play)


def test_what_a_process_emits_before_one_can_listen_comes_out_of_its_ring(tmp_path: Path) -> None:
    async def play(
        folder: ClusterFolder, until: Callable[[Callable[[Envelope], bool]], Awaitable[Envelope]]
    ) -> None:
        asked: list[str] = []

        def noted(envelope: Envelope) -> bool:
            if isinstance(envelope.event, ActionAsked):
                asked.append(envelope.event.action)
            return bool(asked) and asked[-1] == "last"

        teller = Teller(folder, 1)
        teller.tracer(ActionAsked(action="before the feed", target=Source.of_broker(1)))
        await teller.start()
        await until(lambda e: isinstance(e.event, LinkMade))
        teller.tracer(ActionAsked(action="seen", target=Source.of_broker(1)))
        await until(lambda e: noted(e) or bool(asked))
        teller.end()
        await until(lambda e: isinstance(e.event, LinkLost))
        again = Teller(folder, 1)
        again.tracer(ActionAsked(action="before it listens", target=Source.of_broker(1)))
        await again.start()
        await until(lambda e: noted(e) or asked[-1] == "before it listens")
        again.tracer(ActionAsked(action="last", target=Source.of_broker(1)))
        await until(noted)
        assert asked == ["seen", "before it listens", "last"]
        again.end()

    listening(tmp_path, play)


def test_events_are_held_back_and_handed_on_in_the_order_of_their_time(tmp_path: Path) -> None:
    async def run() -> None:
        feed = TraceFeed(ClusterFolder(tmp_path))
        now = now_us()
        told = [
            Envelope(
                Source.of_broker(broker),
                1,
                0,
                0,
                now - age_ms * 1000,
                ActionAsked(action="kill", target=Source.of_broker(broker)),
            )
            for broker, age_ms in ((0, 400), (1, 600), (2, 100))
        ]
        for envelope in told:
            feed._take(envelope)
        assert [e.broker for e in feed.drain(now)] == [
            1,
            0,
        ], "what is younger than a quarter of a second may still be overtaken"
        assert [e.broker for e in feed.drain(now + 200_000)] == [2]

    asyncio.run(run())


def test_a_feed_with_the_past_hands_on_the_rings_of_all_processes_in_one_order(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        folder = ClusterFolder(tmp_path / "c")
        folder.path.mkdir()
        tellers = [Teller(folder, broker) for broker in (0, 1)]
        told = []
        for number in range(40):
            target = Source.of_broker(number)
            tellers[number % 2].tracer(ActionAsked(action="kill", target=target))
            told.append(target)
        for teller in tellers:
            await teller.start()
        dead = folder.broker_events(2)
        dead.parent.mkdir()
        dead.write_text('{"host": "127.0.0.1", "port": 1, "token": "t", "pid": 1}')
        feed = TraceFeed(folder, since_us=0)
        reading = asyncio.create_task(feed.run())
        asked: list[Source] = []
        async with asyncio.timeout(PATIENCE_S):
            while len(asked) < len(told):
                await asyncio.sleep(0.02)
                for envelope in feed.drain():
                    if isinstance(envelope.event, ActionAsked):
                        asked.append(envelope.event.target)
        assert asked == told
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        for teller in tellers:
            teller.end()

    asyncio.run(run())


def test_at_the_end_comes_what_is_held_though_one_process_stands_still(tmp_path: Path) -> None:
    """The process accepts the connection, but it never reads the request."""

    async def run() -> None:
        folder = ClusterFolder(tmp_path / "c")
        folder.path.mkdir()
        well = Teller(folder, 0)
        well.tracer(ActionAsked(action="kill", target=Source.of_broker(7)))
        await well.start()
        still = socket.create_server(("127.0.0.1", 0))
        folder.broker_events(1).parent.mkdir()
        folder.broker_events(1).write_text(
            json.dumps(
                {"host": "127.0.0.1", "port": still.getsockname()[1], "token": "t", "pid": 1}
            )
        )
        feed = TraceFeed(folder, since_us=0)
        reading = asyncio.create_task(feed.run())
        came: list[Envelope] = []
        async with asyncio.timeout(PATIENCE_S):
            while not any(isinstance(e.event, ActionAsked) for e in came):
                await asyncio.sleep(0.02)
                came += feed.rest()
        assert feed.silent() == [Source.of_broker(1)]
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        still.close()
        well.end()

    asyncio.run(run())


def test_it_knows_how_late_its_events_are_read(tmp_path: Path) -> None:
    async def run() -> None:
        folder = ClusterFolder(tmp_path / "c")
        folder.path.mkdir()
        feed = TraceFeed(folder)
        assert feed.late_us() == 0
        late = Teller(folder, 1, LateTime())
        await late.start()
        reading = asyncio.create_task(feed.run())
        async with asyncio.timeout(PATIENCE_S):
            while feed.late_us() < LATE_NS // 1000:
                await asyncio.sleep(0.02)
            late.end()
            while feed.late_us():
                await asyncio.sleep(0.02)
                feed.drain()
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)

    asyncio.run(run())


def dequeued(correlation: int) -> RequestDequeued:
    return RequestDequeued(
        connection_id="c", correlation_id=correlation, api_key=0, handler=1, queued_us=50
    )


@pytest.mark.parametrize("sheds", [True, False])
def test_one_that_sheds_leaves_hops_out_while_it_is_late_and_says_how_many(
    tmp_path: Path, sheds: bool
) -> None:
    async def run() -> None:
        folder = ClusterFolder(tmp_path / "c")
        folder.path.mkdir()
        feed = TraceFeed(folder, Level.HOPS, sheds=sheds)
        teller = Teller(folder, 1)
        await teller.start()
        reading = asyncio.create_task(feed.run())
        came: list[Event] = []

        async def until(wanted: ActionAsked, late_us: int) -> None:
            """Drain the feed, `late_us` late, until this event has come."""
            while wanted not in came:
                await asyncio.sleep(0.02)
                came.extend(e.event for e in feed.drain(now_us() + late_us))

        first, second, third = (
            ActionAsked(action=act, target=Source.of_broker(1)) for act in ("a", "b", "c")
        )
        async with asyncio.timeout(PATIENCE_S):
            while not teller.tracer.hops:
                await asyncio.sleep(0.02)
            teller.tracer(first)
            await until(first, 0)
            for correlation in range(7):
                teller.tracer(dequeued(correlation))
            teller.tracer(second)
            await until(second, HOLD_BACK_US + BEHIND_US + 1)
            teller.tracer(third)
            await until(third, 0)
        hops = [e for e in came if isinstance(e, RequestDequeued)]
        missing = sum(e.dropped for e in came if isinstance(e, Gap))
        assert [e for e in came if isinstance(e, ActionAsked)] == [first, second, third]
        if sheds:
            assert (hops, missing) == ([], 7)
            assert feed.left_out["RequestDequeued"] == 7
        else:
            assert (hops, missing) == ([dequeued(correlation) for correlation in range(7)], 0)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        teller.end()

    asyncio.run(run())


def test_one_that_is_far_behind_goes_on_with_a_new_snapshot_of_each_process(tmp_path: Path) -> None:
    async def run() -> None:
        folder = ClusterFolder(tmp_path / "c")
        folder.path.mkdir()
        recorded: list[str] = []
        feed = TraceFeed(folder, sheds=True, on_line=lambda name, _: recorded.append(name))
        teller = Teller(folder, 1)
        connection = ConnectionSnapshot(connection_id="c", listener="L", processor=0, client_id="")
        teller.tracer.on_snapshot(lambda: [connection])
        await teller.start()
        reading = asyncio.create_task(feed.run())
        came: list[Event] = []
        missed = ActionAsked(action="missed", target=Source.of_broker(1))

        async def until(wanted: Callable[[], bool], late_us: int = 0) -> None:
            """Drain the feed, `late_us` late, until `wanted` returns True."""
            while not wanted():
                await asyncio.sleep(0.02)
                came.extend(e.event for e in feed.drain(now_us() + late_us))

        def after_gap() -> list[Event]:
            return came[next((n for n, e in enumerate(came, 1) if isinstance(e, Gap)), len(came)) :]

        async with asyncio.timeout(PATIENCE_S):
            await until(lambda: connection in came)
            teller.tracer(missed)
            await until(lambda: feed.left_out["ActionAsked"] > 0, HOLD_BACK_US + SKIP_US + 1)
            await until(lambda: any(isinstance(e, SnapshotEnds) for e in after_gap()))
        assert missed not in came
        assert "ActionAsked" in recorded, "a recording has the facts that the view leaves out"
        begins, *rest = after_gap()
        assert isinstance(begins, SnapshotBegins)
        assert connection in rest
        gap = next(e for e in came if isinstance(e, Gap))
        assert gap == Gap(dropped=1, by_type=(("ActionAsked", 1),))
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        teller.end()

    asyncio.run(run())


def test_a_snapshot_can_be_requested_from_each_process_and_nothing_is_left_out(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        folder = ClusterFolder(tmp_path / "c")
        folder.path.mkdir()
        feed = TraceFeed(folder)
        tellers = [Teller(folder, broker) for broker in (1, 2)]
        for teller in tellers:
            await teller.start()
        reading = asyncio.create_task(feed.run())
        came: list[Envelope] = []

        async def until_snapshots(count: int) -> None:
            ends = 0
            while ends < count:
                await asyncio.sleep(0.02)
                came.extend(feed.drain(FAR_FUTURE_US))
                ends = sum(isinstance(e.event, SnapshotEnds) for e in came)

        async with asyncio.timeout(PATIENCE_S):
            await until_snapshots(2)
            feed.ask_for_snapshots()
            await until_snapshots(4)
        ended = sorted(e.source.id for e in came if isinstance(e.event, SnapshotEnds))
        assert ended == [1, 1, 2, 2]
        assert not feed.left_out
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        for teller in tellers:
            teller.end()

    asyncio.run(run())
