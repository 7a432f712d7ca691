"""A recording from the simulator: the events of a real cluster in virtual time."""

from pathlib import Path

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.instruments.recording import Recorder
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Envelope, Level

WEB: TopicPartition = TopicPartition("web", 0)


class Simulated:
    """Three brokers and the topic `web`, which has one partition with three replicas."""

    def __init__(self, level: Level = Level.HOPS) -> None:
        self.cluster = SimCluster(7, (1, 2, 3), {}, level)
        self.cluster.start_all()
        self.client = SimClient(self.cluster)
        self.cluster.run_as(self.client.process, self.client.create_topic("web", 1, 3))
        self.cluster.advance(2000)
        self.leader = self.cluster.run_as(self.client.process, self.client.leader_of(WEB))
        self.follower = next(b for b in (1, 2, 3) if b != self.leader)
        self._sampled: list[Envelope] = []

    def sample(self) -> None:
        """Take every broker's snapshot and gauges, as a subscriber gets them."""
        for broker in self.cluster.brokers.values():
            if broker.tracer is not None:
                self._sampled += [*broker.tracer.snapshot(), *broker.tracer.gauges()]

    def envelopes(self) -> list[Envelope]:
        return [*self.cluster.sink.events, *self._sampled]

    def record(self, path: Path) -> Path:
        recorder = Recorder(path, "sim")
        recorder.write(self.envelopes())
        recorder.close()
        return path
