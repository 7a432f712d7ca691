"""Record one order of a small cluster's events, so that the dashboard can show it.

The events of the brokers are those that the brokers emit themselves. `election_orders` plays the
controller. In the recording, an additional broker without a replica emits the controller's events.
The supervisor emits the starts and ends of processes. An OrderStepped comes before each event of
the order, and an OrderFailed ends the recording.
"""

from collections.abc import Sequence
from typing import Final

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.replication.partition_view import partition_snapshot
from kafka_edu.sim.election_orders import HOP_MS, NOBODY, ClusterEvent, ElectionSpace, ElectionWorld
from kafka_edu.sim.stepped_cluster import ModelBroker, T
from kafka_edu.trace.event import SUPERVISOR, Envelope, Event, Level, Source
from kafka_edu.trace.events.controller import ControllerElected, LeaderElected
from kafka_edu.trace.events.learner import OrderFailed, OrderStepped
from kafka_edu.trace.events.replication import PartitionOffsets
from kafka_edu.trace.events.server import BrokerRegistered
from kafka_edu.trace.events.supervisor import ProcessEnded, ProcessStarted
from kafka_edu.trace.tracer import Tracer

STRATEGY: Final = "OfflinePartition"
WHY: Final = "the learner's rule chose it"
NOBODY_WHY: Final = "the learner's rule chose no replica"


class _Everything:
    """Keeps all events in the order in which they were emitted."""

    def __init__(self) -> None:
        self.level = Level.HOPS
        self.events: list[Envelope] = []

    def accept(self, envelope: Envelope) -> None:
        self.events.append(envelope)


class OrderRecording:
    """Plays one order of events and collects everything that is emitted."""

    def __init__(self, space: ElectionSpace, file: str) -> None:
        """`file` is the name of the file with the learner's rule."""
        self._space = space
        self._file = file
        self._sink = _Everything()

    def play(self, order: Sequence[ClusterEvent], fault: str) -> list[Envelope]:
        """Play an order that ends with a fault. Return the recording."""
        world = self._space.play(())
        time = world.cluster.time
        supervisor, controller = Tracer(SUPERVISOR, time), Tracer(self._controller(world), time)
        for tracer in (supervisor, controller, *(one.trace for one in world.cluster.brokers)):
            tracer.add_sink(self._sink)
        self._introduce(world, supervisor, controller)
        number = 0

        def on_event(event: ClusterEvent) -> None:
            nonlocal number
            number += 1
            supervisor(
                OrderStepped(number=number, steps=len(order), who="", step=str(event), line=0)
            )
            self._process(event, supervisor)

        def on_election(before: LeaderAndIsr, after: LeaderAndIsr) -> None:
            controller(self._elected(world, before, after))

        world.on_event, world.on_election = on_event, on_election
        for event in order:
            world.do(event)
            self._sample(world)
        time.advance(HOP_MS)
        supervisor(OrderFailed(fault=fault, file=self._file))
        return self._sink.events

    def _controller(self, world: ElectionWorld) -> Source:
        return Source.of_broker(len(world.cluster.brokers))

    def _introduce(self, world: ElectionWorld, supervisor: Tracer, controller: Tracer) -> None:
        """Emit the events that describe the cluster before the first event of the order."""
        for number, tracer in enumerate(
            [*(one.trace for one in world.cluster.brokers), controller]
        ):
            source = tracer.source
            supervisor(ProcessStarted(process=str(source), child=source, pid=0))
            tracer(BrokerRegistered(broker_id=number, broker_epoch=0, end_points=(), session_id=0))
        controller(ControllerElected(epoch=1, epoch_zk_version=0))
        first = LeaderAndIsr(NOBODY, NOBODY, (), 0)
        controller(self._elected(world, first, world.cluster.state))
        for broker in world.cluster.brokers:
            self._keep(broker, partition_snapshot(broker.partition))
        self._sample(world)

    def _process(self, event: ClusterEvent, supervisor: Tracer) -> None:
        child = Source.of_broker(event.broker)
        if event.kind == "kill":
            supervisor(
                ProcessEnded(
                    process=str(child), child=child, pid=0, code=0, signal="SIGKILL", asked=True
                )
            )
        elif event.kind == "start":
            supervisor(ProcessStarted(process=str(child), child=child, pid=0))

    def _elected(
        self, world: ElectionWorld, before: LeaderAndIsr, after: LeaderAndIsr
    ) -> LeaderElected:
        return LeaderElected(
            topic=T.topic,
            partition=T.partition,
            strategy=STRATEGY,
            replicas=tuple(broker.id for broker in world.cluster.brokers),
            isr_before=before.isr,
            live=world.live,
            old_leader=before.leader,
            new_leader=after.leader,
            isr=after.isr,
            leader_epoch=after.leader_epoch,
            unclean=bool(before.isr) and after.leader not in (NOBODY, *before.isr),
            controller_epoch=1,
            zk_path=f"/brokers/topics/{T.topic}/partitions/{T.partition}/state",
            zk_version=after.zk_version,
            why=NOBODY_WHY if after.leader == NOBODY else WHY,
        )

    def _sample(self, world: ElectionWorld) -> None:
        """Add each live replica's present offsets to the recording."""
        for broker in world.cluster.brokers:
            partition = broker.manager.partitions.get(T) if broker.alive else None
            shown = partition_snapshot(partition) if partition is not None else None
            if shown is not None:
                self._keep(
                    broker,
                    PartitionOffsets(topic=T.topic, partition=T.partition, progress=shown.progress),
                )

    def _keep(self, broker: ModelBroker, event: Event | None) -> None:
        """Add an event that is a sample or a part of a snapshot. A tracer emits only facts."""
        time, trace = broker.time, broker.trace
        if event is not None:
            mono_us, wall_ms = time.nanoseconds() // 1000, time.milliseconds()
            self._sink.accept(Envelope(trace.source, trace.seq, 0, wall_ms, mono_us, event))
