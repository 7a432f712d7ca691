"""The events of all simulated processes as one stream: which events a subscriber gets, and what is
sampled.
"""

from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.stage.stage_tracer import StageTracer
from kafka_edu.trace.event import Envelope, Level, Source
from kafka_edu.trace.events.supervisor import LinkSnapshot, ProcessSnapshot
from kafka_edu.trace.events.trace import SnapshotBegins, SnapshotEnds


class Kept:
    """Keeps what a subscriber of one level gets."""

    def __init__(self, level: Level) -> None:
        self.level = level
        self.events: list[Envelope] = []

    def accept(self, envelope: Envelope) -> None:
        self.events.append(envelope)


def test_a_subscriber_gets_the_level_and_the_state_of_all_processes() -> None:
    cluster = SimCluster(1, level=Level.ALL)
    tracer = StageTracer(lambda: cluster)
    few, many = Kept(Level.STATE), Kept(Level.ALL)
    tracer.add_sink(few)
    tracer.add_sink(many)
    cluster.sink.listeners.append(tracer.pass_on)
    cluster.start_all()
    assert many.events == cluster.sink.events
    assert 0 < len(few.events) < len(many.events)

    snapshot = tracer.snapshot()
    frames = [e.source for e in snapshot if isinstance(e.event, SnapshotBegins)]
    assert frames == [Source.of_broker(broker) for broker in (1, 2, 3)]
    assert frames == [e.source for e in snapshot if isinstance(e.event, SnapshotEnds)]
    assert {e.broker for e in tracer.gauges()} == {1, 2, 3}

    few.events.clear()
    cluster.pause(1)
    cluster.kill(2)
    one, two, three = (broker.process for broker in cluster.brokers.values())
    cluster.network.cut(three, one, one_way=True)
    cluster.network.slow_down(two, three, (25, 100))
    tracer.pass_on_processes()
    states = {e.event.child.id: e.event.state for e in few.events
              if isinstance(e.event, ProcessSnapshot) and e.event.child.broker}  # fmt: skip
    assert states == {1: "paused", 2: "stopped", 3: "running"}
    links = [e.event for e in few.events if isinstance(e.event, LinkSnapshot)]
    assert links == [
        LinkSnapshot(broker=1, other=3, delay_ms=0, cut=True),
        LinkSnapshot(broker=2, other=3, delay_ms=100, cut=False),
    ]
    assert {e.broker for e in tracer.gauges()} == {3}, "neither a paused nor a dead broker"

    few.events.clear()
    tracer.pass_on_processes()
    assert few.events == [], "nothing has changed"
    cluster.close()
