"""Eight hours' worth of events through every reducer: memory stays where it was after four."""

import gc
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Final

import pytest

from kafka_edu.trace.event import EVENT_TYPES, SUPERVISOR, Envelope, Event, Kind, Source, SourceKind
from kafka_edu.trace.events import controller as ctl
from kafka_edu.trace.events import network, purgatory, replication, server, supervisor, timer, zk
from tui import player as player_module
from tui.model import Model
from tui.player import Player

HOURS: Final = 8
CYCLE_S: Final = 12
"""Every twelve seconds something goes wrong, and is mended."""
ZOOKEEPER: Final = Source(SourceKind.ZOOKEEPER, 1)


class Stream:
    """Numbers events as processes do, and keeps none of them."""

    def __init__(self) -> None:
        self.now_us = 0
        self._seq: Counter[Source] = Counter()

    def tell(self, source: Source | int, event: Event, cause: int = 0) -> Envelope:
        teller = Source.of_broker(source) if isinstance(source, int) else source
        self.now_us += 10_000
        if EVENT_TYPES[type(event).__name__].kind is Kind.FACT:
            self._seq[teller] += 1
        wall_ms = self.now_us // 1000
        return Envelope(teller, self._seq[teller], cause, wall_ms, self.now_us, event)

    def cycle(self, n: int) -> Iterator[Envelope]:
        """Everything that holds a number which never comes again: sessions, epochs, connections."""
        broker, path = n % 3, f"/brokers/topics/web/partitions/{n % 8}/state"
        peer = f"127.0.0.1:{10_000 + n % 50_000}"
        yield self.tell(
            SUPERVISOR,
            supervisor.ProcessEnded(f"broker-{broker}", Source.of_broker(broker), n, -9, "K", True),
        )
        yield self.tell(ZOOKEEPER, zk.SessionExpired(session_id=n, timeout_ms=6_000))
        yield self.tell(ZOOKEEPER, zk.ZnodeDeleted(f"/brokers/ids/{broker}", n, n))
        began = self.tell(1, ctl.ControllerEventStarted("BrokerChange", f"-{broker}", 1))
        yield began
        yield self.tell(
            1,
            ctl.LeaderElected(
                topic="web",
                partition=n % 8,
                strategy="OfflinePartition",
                replicas=(0, 1, 2),
                isr_before=(0, 1, 2),
                live=(1, 2),
                old_leader=broker,
                new_leader=(n + 1) % 3,
                isr=(1, 2),
                leader_epoch=n,
                unclean=False,
                controller_epoch=1,
                zk_path=path,
                zk_version=n,
            ),
            began.seq,
        )
        yield self.tell(ZOOKEEPER, zk.ZnodeChanged(path, n, 1, n, 10, f"{n}"))
        for i in range(4):
            yield self.tell(
                1, ctl.ControllerRequestSent(i % 3, 4, 5, 4 * n + i, peer, 1, 0), began.seq
            )
            received = self.tell(
                i % 3,
                network.RequestReceived(
                    f"127.0.0.1:9092-{peer}-{n}", 4 * n + i, 4, 5, "c", 10, 0, 0
                ),
            )
            yield received
            yield self.tell(i % 3, network.ConnectionOpened(f"{peer}-{n}-{i}", "PLAINTEXT", 0))
        yield self.tell(2, replication.FetcherFailed(broker, f"{n % 5}: refused"))
        yield self.tell(
            2,
            replication.IsrShrunk("web", n % 8, n, (0, 1, 2), (1, 2), n, f"{n % 9} is behind: {n}"),
        )
        yield self.tell(
            SUPERVISOR,
            supervisor.ProcessStarted(f"broker-{broker}", Source.of_broker(broker), n + 1),
        )
        yield self.tell(
            broker,
            server.BrokerRegistered(
                broker_id=broker, end_points=(), broker_epoch=n, session_id=n + 1
            ),
        )
        state = timer.TimerState("Produce", n, n, 3, 1, None, n, n, 0, n)
        yield self.tell(broker, timer.TimerSampled(state=state))
        counts = tuple(n * slot % 3 for slot in range(20))
        wheel = timer.WheelState("Produce", 2, 20, 20, n, counts, 0, 0)
        yield self.tell(broker, timer.WheelSampled(state=wheel))
        waiting = purgatory.WaitingOperation(
            "Produce", n, "DelayedProduce", ("web-0",), 5, n + 9, ()
        )
        yield self.tell(broker, purgatory.WaitingOperationSampled(waiting=waiting))


@pytest.fixture(autouse=True)
def _short_tape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(player_module, "TAPE_EVENTS", 15_000)
    monkeypatch.setattr(player_module, "MAX_KEYFRAMES", 4)


def test_eight_hours_of_events_keep_no_more_than_four() -> None:
    stream, player = Stream(), Player(Model("demo"))
    blocks: list[int] = []
    for n in range(HOURS * 3600 // CYCLE_S):
        player.take(list(stream.cycle(n)), stream.now_us)
        if (n + 1) % (3600 // CYCLE_S) == 0:  # an hour's worth
            gc.collect()
            blocks.append(sys.getallocatedblocks())
    assert len(player.model.ticker.history.events) <= 20_000
    # History, tape and keyframes are full by then.
    assert max(blocks[HOURS // 2 :]) < max(blocks[: HOURS // 2]) * 1.03, blocks


def test_an_open_view_that_is_paused_for_hours_keeps_no_more() -> None:
    stream, player = Stream(), Player(Model("demo"))
    player.take(list(stream.cycle(0)), stream.now_us)
    player.toggle()
    for n in range(1, 1_200):
        player.take(list(stream.cycle(n)), stream.now_us)
    assert player.paused
    assert len(player.tape) <= 15_000
    assert player.model.pause is not None
    assert player.model.pause.not_held > 10_000
