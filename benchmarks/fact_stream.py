"""Make a stream of invented events of a cluster in trouble, to measure programs that read it.

As in a real cluster, some numbers never repeat: sessions, epochs, connections, correlation ids. So
if a program stores an entry for each of these numbers, its memory grows without end.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from kafka_edu.trace.event import EVENT_TYPES, SUPERVISOR, Envelope, Event, Kind, Source, SourceKind
from kafka_edu.trace.events import controller as ctl
from kafka_edu.trace.events import network, purgatory, replication, server, supervisor, timer, zk

ZOOKEEPER: Final = Source(SourceKind.ZOOKEEPER, 1)


class FactStream:
    """Makes events with sequence numbers, as real processes do. It does not store events."""

    def __init__(self, step_us: int = 10_000) -> None:
        """Create the stream. `step_us` is the time between two events, in µs."""
        self.now_us = 0
        self._step_us = step_us
        self._seq: Counter[Source] = Counter()

    def tell(self, source: Source | int, event: Event, cause: int = 0) -> Envelope:
        teller = Source.of_broker(source) if isinstance(source, int) else source
        self.now_us += self._step_us
        if EVENT_TYPES[type(event).__name__].kind is Kind.FACT:
            self._seq[teller] += 1
        wall_ms = self.now_us // 1000
        return Envelope(teller, self._seq[teller], cause, wall_ms, self.now_us, event)

    def cycle(self, n: int) -> Iterator[Envelope]:
        """Yield the events of round `n`. Their sessions, epochs and connections do not repeat."""
        broker, path = n % 3, f"/brokers/topics/web/partitions/{n % 8}/state"
        peer = f"127.0.0.1:{10_000 + n % 50_000}"
        yield self.tell(
            SUPERVISOR,
            supervisor.ProcessEnded(
                process=f"broker-{broker}",
                child=Source.of_broker(broker),
                pid=n,
                code=-9,
                signal="K",
                asked=True,
            ),
        )
        yield self.tell(ZOOKEEPER, zk.SessionExpired(session_id=n, timeout_ms=6_000))
        yield self.tell(
            ZOOKEEPER, zk.ZnodeDeleted(path=f"/brokers/ids/{broker}", zxid=n, session_id=n)
        )
        began = self.tell(
            1, ctl.ControllerEventStarted(name="BrokerChange", detail=f"-{broker}", queued_us=1)
        )
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
        yield self.tell(
            ZOOKEEPER,
            zk.ZnodeChanged(
                path=path, zxid=n, session_id=1, version=n, data_length=10, data=f"{n}"
            ),
        )
        for i in range(4):
            yield self.tell(
                1,
                ctl.ControllerRequestSent(
                    broker_id=i % 3,
                    api_key=4,
                    api_version=5,
                    correlation_id=4 * n + i,
                    local=peer,
                    partitions=1,
                    queue_size=0,
                ),
                began.seq,
            )
            received = self.tell(
                i % 3,
                network.RequestReceived(
                    connection_id=f"127.0.0.1:9092-{peer}-{n}",
                    correlation_id=4 * n + i,
                    api_key=4,
                    api_version=5,
                    client_id="c",
                    size_bytes=10,
                    processor=0,
                    queue_size=0,
                ),
            )
            yield received
            yield self.tell(
                i % 3,
                network.ConnectionOpened(
                    connection_id=f"{peer}-{n}-{i}", listener="PLAINTEXT", processor=0
                ),
            )
        yield self.tell(
            1,
            ctl.ControllerEventProcessed(name="BrokerChange", queued_us=9, took_us=900, error=""),
            began.seq,
        )
        yield self.tell(2, replication.FetcherFailed(leader=broker, reason=f"{n % 5}: refused"))
        yield self.tell(
            2,
            replication.IsrShrunk(
                topic="web",
                partition=n % 8,
                leader_epoch=n,
                before=(0, 1, 2),
                after=(1, 2),
                zk_version=n,
                reason=f"{n % 9} is behind: {n}",
            ),
        )
        yield self.tell(
            SUPERVISOR,
            supervisor.ProcessStarted(
                process=f"broker-{broker}", child=Source.of_broker(broker), pid=n + 1
            ),
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
