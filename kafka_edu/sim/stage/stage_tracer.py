"""The events of all processes of a simulated cluster as one stream.

In a real cluster each process has an event socket. Simulated processes share one process and one
order of events, so one socket is enough, and its readers need not sort the events.
"""

from collections.abc import Callable, Iterator

from kafka_edu.common.time import Time
from kafka_edu.sim.sim_cluster import SimBroker, SimCluster
from kafka_edu.trace.event import SUPERVISOR, ZOOKEEPER, Envelope, Event, Source
from kafka_edu.trace.events.supervisor import LinkSnapshot, ProcessSnapshot
from kafka_edu.trace.events.trace import SnapshotBegins, SnapshotEnds
from kafka_edu.trace.tracer import RANKS, Tracer, rank_of_type


class _VirtualTime:
    """The clock of the cluster that is played at present. A run that begins again has a new
    clock.
    """

    def __init__(self, cluster: Callable[[], SimCluster]) -> None:
        self._cluster = cluster

    def milliseconds(self) -> int:
        return self._cluster().time.milliseconds()

    def hi_res_clock_ms(self) -> int:
        return self._cluster().time.hi_res_clock_ms()

    def nanoseconds(self) -> int:
        return self._cluster().time.nanoseconds()

    async def sleep(self, ms: float) -> None:
        raise NotImplementedError("nobody may wait in the virtual time of a stage")


class StageTracer(Tracer):
    """Passes the events of simulated processes to subscribers, and samples their state for them.

    The tracer emits no event itself, so the facts of a run have the same numbers if somebody
    watches it.
    """

    def __init__(self, cluster: Callable[[], SimCluster]) -> None:
        """`cluster` returns the present cluster."""
        time: Time = _VirtualTime(cluster)
        super().__init__(SUPERVISOR, time)
        self._cluster = cluster
        self._processes: list[Event] = []
        self.on_gauge: Callable[[Envelope], None] = lambda envelope: None
        """Gets each gauge when it is sampled."""

    def pass_on(self, envelope: Envelope, rank: int | None = None) -> None:
        """Pass an event to the subscribers that want its level. Without `rank`, the level is that
        of the event's type.
        """
        rank = rank_of_type(type(envelope.event)) if rank is None else rank
        for attached in self._attached:
            if RANKS[attached.sink.level] >= rank:
                attached.sink.accept(envelope)

    def pass_on_sample(self, event: Event) -> None:
        """Pass a sample of the stage itself to all subscribers."""
        self.pass_on(self._now(SUPERVISOR, 0, event))

    def pass_on_processes(self) -> None:
        """Pass on which processes run and which links have faults, if this has changed."""
        processes = list(self._supervised())
        if processes != self._processes:
            self._processes = processes
            for envelope in self._framed(SUPERVISOR, self._cluster().supervisor.seq, processes):
                self.pass_on(envelope)

    def snapshot(self) -> list[Envelope]:
        """Return the state of all processes. A broker that is down has none."""
        supervisor = self._cluster().supervisor
        return [
            *(self._now(SUPERVISOR, supervisor.seq, event) for event in self._supervised()),
            *(
                envelope
                for tracer in self._tracers()
                for envelope in self._framed(
                    tracer.source, tracer.seq, [one.event for one in tracer.snapshot()]
                )
            ),
        ]

    def gauges(self) -> list[Envelope]:
        """Return a sample of every gauge. A paused broker is not asked."""
        gauges = [envelope for tracer in self._tracers() for envelope in tracer.gauges()]
        for envelope in gauges:
            self.on_gauge(envelope)
        return gauges

    def _tracers(self) -> Iterator[Tracer]:
        cluster = self._cluster()
        for broker in cluster.brokers.values():
            if broker.tracer is not None and _state(broker) == "running":
                yield broker.tracer
        yield from cluster.guests.values()

    def _supervised(self) -> Iterator[Event]:
        cluster = self._cluster()
        yield ProcessSnapshot(process="zookeeper", child=ZOOKEEPER, state="running", pid=0, port=0)
        for broker in cluster.brokers.values():
            source, port = Source.of_broker(broker.id), cluster.port(broker.id)
            yield ProcessSnapshot(
                process=f"broker-{broker.id}",
                child=source,
                state=_state(broker),
                pid=0,
                port=port,
            )
        for link, fault in cluster.link_faults().items():
            yield LinkSnapshot(**link._asdict(), **fault._asdict())

    def _framed(self, source: Source, seq: int, events: list[Event]) -> Iterator[Envelope]:
        """Yield a snapshot of one process, from its start to its end."""
        yield self._now(source, seq, SnapshotBegins(as_of=seq))
        for event in events:
            yield self._now(source, seq, event)
        yield self._now(source, seq, SnapshotEnds(events=len(events)))

    def _now(self, source: Source, seq: int, event: Event) -> Envelope:
        time = self.time
        return Envelope(source, seq, 0, time.milliseconds(), time.nanoseconds() // 1_000, event)


def _state(broker: SimBroker) -> str:
    if broker.server is None:
        return "stopped"
    return "paused" if broker.process.paused else "running"
