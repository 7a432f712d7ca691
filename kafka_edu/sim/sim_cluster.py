"""A whole cluster in one process, in virtual time (spec M6).

The cluster runs the broker's own classes with a simulated clock, network, disk and ZooKeeper.

    cluster = SimCluster(seed=7, broker_ids=(1, 2, 3))
    cluster.start_all()
    cluster.advance(15_000)
    cluster.kill(1)

The seed and the calls determine everything that happens. The same seed and the same calls give the
same events, byte for byte (`events_bytes`).
"""

import asyncio
import contextvars
import gc
import logging
import random
import sys
import warnings
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TypeVar

import kafka_edu.trace.events.all  # noqa: F401 - what is registered goes over the wire: always the same
from kafka_edu.common.gc_thresholds import few_searches
from kafka_edu.common.link_faults import WHOLE, Link, LinkFault
from kafka_edu.common.ports import BROKER_PORT
from kafka_edu.learner.seams import LearnerError
from kafka_edu.log.cleaner.clean_job import CleanJob, CleanResult
from kafka_edu.server.config.kafka_config import KafkaConfig, Setting, make_config
from kafka_edu.server.config.listener_settings import listener_settings
from kafka_edu.server.kafka_server import KafkaServer
from kafka_edu.sim.learner_parts import InstalledPart, RunningParts
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.sim.memory_transport import MemoryNetwork
from kafka_edu.sim.memory_zk_client import MemoryZkClient
from kafka_edu.sim.memory_zookeeper import MemoryZooKeeper
from kafka_edu.sim.sim_loop import WORLD, Passage, SimLoop, SimProcess, SimTime, context_of
from kafka_edu.sim.slow_disk import SlowDisk
from kafka_edu.trace.event import SUPERVISOR, ZOOKEEPER, Envelope, Event, Level, Source
from kafka_edu.trace.events.supervisor import (
    ActionAsked,
    LinkChanged,
    ProcessEnded,
    ProcessPaused,
    ProcessResumed,
    ProcessStarted,
)
from kafka_edu.trace.tracer import RANKS, Tracer
from kafka_edu.trace.wire_format import encode
from kafka_edu.zk.kafka_zk_client import KafkaZkClient

T = TypeVar("T")

FIRST_PORT = BROKER_PORT
START_LIMIT_MS = 60_000
ADMIN_SESSION_MS = 60_000
ADMIN_CONNECT_MS = 1_000
ZOOKEEPER_LATENCY_MS = (0.1, 0.6)
LOWEST_RANK = max(RANKS.values())


class _Everything:
    """Keeps every event of all brokers, in the order in which they were emitted."""

    def __init__(self, level: Level) -> None:
        self.level = level
        self.events: list[Envelope] = []
        self.listeners: list[Callable[[Envelope], None]] = []
        self.rank = LOWEST_RANK
        """The rank of the present event, which may be higher than that of its type: a hop of a slow
        request. It is known only in a cluster with ranks.
        """

    def accept(self, envelope: Envelope) -> None:
        self.events.append(envelope)
        for listener in self.listeners:
            listener(envelope)
        self.rank = LOWEST_RANK


class _Rank:
    """Stores the rank of an event in `_Everything`, which gets the event next."""

    def __init__(self, level: Level, everything: _Everything) -> None:
        self.level = level
        self._everything = everything

    def accept(self, _: Envelope) -> None:
        self._everything.rank = RANKS[self.level]


class DroppedEvents(list[Envelope]):
    """A list that drops events, for a run whose events only its listeners need. A simulated minute
    has a million events.
    """

    def append(self, _: Envelope) -> None: ...


@contextmanager
def coroutines_of_dead_processes() -> Iterator[None]:
    """Hide Python's warnings about coroutines that never end. A killed process leaves such
    coroutines, which is no fault of its code. `SimCluster.close` ends coroutines that still wait.

    In this `with` block Python searches for garbage as rarely as in a broker.
    """
    with few_searches(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "coroutine .* was never awaited")
        try:
            yield
        finally:
            before, sys.unraisablehook = sys.unraisablehook, lambda _: None
            try:
                gc.collect()
            finally:
                sys.unraisablehook = before


@contextmanager
def silent_brokers() -> Iterator[None]:
    """Drop the log lines of brokers. These lines report consequences of a run's faults, which are
    in the run's facts too.
    """
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


class SimBroker:
    """One simulated broker. Its disk stays when its process ends."""

    def __init__(
        self, broker_id: int, time: SimTime, file_system: MemoryFileSystem, disk: SlowDisk
    ) -> None:
        self.id = broker_id
        self.time = time
        """The clock of the broker's machine."""
        self.file_system = file_system
        self.disk = disk
        """Simulates how long the operations of the broker's disk take."""
        self.incarnation = 0
        self.process = SimProcess(f"broker-{broker_id}")
        self.server: KafkaServer | None = None
        self.starting: asyncio.Task[None] | None = None
        """The start of the current process. It is done when the broker has started."""
        self.zk_client: MemoryZkClient | None = None
        self.tracer: Tracer | None = None
        self.parts: RunningParts | None = None
        """The learners' parts that serve in the current process."""

    def end_parts(self) -> None:
        if self.parts is not None:
            self.parts.close()
            self.parts = None

    @property
    def running(self) -> KafkaServer:
        """The broker's KafkaServer. Raises RuntimeError if the broker is not up."""
        if self.server is None:
            raise RuntimeError(f"broker {self.id} is not up")
        return self.server

    async def clean(self, job: CleanJob) -> CleanResult:
        """Carry out one pass of log compaction on the broker's disk, without a separate process."""
        # only compaction needs numpy, which takes 0.1 s, and which a web page does not have
        from kafka_edu.log.cleaner.cleaner import Cleaner, no_throttle

        return await self.disk.run_blocking(
            lambda: Cleaner(job, self.file_system, no_throttle).clean()
        )


class SimCluster:
    """Brokers, ZooKeeper, network and clock, all from one seed. A script controls it with method
    calls.
    """

    def __init__(
        self,
        seed: int,
        broker_ids: Sequence[int] = (1, 2, 3),
        properties: Mapping[str, str] | None = None,
        level: Level = Level.STATE,
        broker_properties: Mapping[int, Mapping[str, str]] | None = None,
        zookeeper_tick_ms: int = 2_000,
        make_random: Callable[[str], random.Random] = random.Random,
        make_loop: Callable[[], SimLoop] = SimLoop,
        learners: Sequence[InstalledPart] = (),
        ranked: bool = False,
    ) -> None:
        """Build the cluster. Every broker has the settings in `properties`. `broker_properties`
        holds additional settings by broker id. `zookeeper_tick_ms` is ZooKeeper's tickTime.
        `make_random` returns the generator of one part of the cluster, from a text as its seed.
        `make_loop` returns the loop that decides what happens next. `learners` are learners' parts;
        the caller runs the cluster within `seams_by_process`. With `ranked`, the sink knows the
        rank of each event.
        """
        self.seed = seed
        self._learners = learners
        self._make_random = make_random
        self.loop = make_loop()
        self.time = SimTime(self.loop)
        self.network = MemoryNetwork(self.loop, self._random("network"))
        self.network.on_fault = self._link_changed
        self.sink = _Everything(level)
        # A sink of a lower level would let the brokers emit more.
        below = [each for each in (Level.HOPS, Level.STATE) if RANKS[each] < RANKS[level]]
        self._ranks = [_Rank(each, self.sink) for each in below] if ranked else []
        self._properties = dict(properties or {})
        self._broker_properties = {
            broker_id: dict(own) for broker_id, own in (broker_properties or {}).items()
        }
        self._zk_process = SimProcess("zookeeper")
        self.supervisor = Tracer(SUPERVISOR, self.time)
        """Emits an event for each process that the script starts or ends, as the supervisor of a
        real cluster does.
        """
        self.listen_to(self.supervisor)
        zk_random = self._random("zookeeper")
        zk_tracer = Tracer(ZOOKEEPER, self.time)
        self.listen_to(zk_tracer)
        self.zookeeper_latency_ms = ZOOKEEPER_LATENCY_MS
        """The shortest and the longest time that a message to or from ZooKeeper takes, in ms. With
        a slow disk under ZooKeeper's log both are longer.
        """
        self.zookeeper = MemoryZooKeeper(
            self.time,
            tick_time_ms=zookeeper_tick_ms,
            latency_ms=lambda: zk_random.uniform(*self.zookeeper_latency_ms),
            trace=zk_tracer,
        )
        self.loop.run_in(self._zk_process, self.zookeeper.start)
        self.supervised = False
        """Whether each start and each end of a process, and each change of a link, is a fact, as
        with the supervisor of a real cluster. A kill is then also recorded as requested.
        """
        self.guests: dict[Source, Tracer] = {}
        """The tracers of clients that emit events of their own, such as a load."""
        self.on_stall: Callable[[int, float], None] = lambda broker_id, ms: None
        """A callback for each write on a slow disk that delays a broker, with the broker's id and
        the delay in ms.
        """
        self._stops = dict.fromkeys(broker_ids, 0)
        self.brokers = {broker_id: self._broker(broker_id) for broker_id in broker_ids}
        self.advance(0)

    def listen_to(self, tracer: Tracer) -> None:
        """Take the events of a simulated process."""
        for rank in self._ranks:
            tracer.add_sink(rank)
        tracer.add_sink(self.sink)

    def _random(self, name: str) -> random.Random:
        return self._make_random(f"{self.seed}/{name}")

    def _broker(self, broker_id: int) -> SimBroker:
        disk = SlowDisk(self._random(f"disk-{broker_id}"), lambda ms: self._stall(broker_id, ms))
        time = SimTime(self.loop)
        file_system = MemoryFileSystem(now_ms=time.milliseconds)
        file_system.on_append = disk.wrote
        return SimBroker(broker_id, time, file_system, disk)

    def _stall(self, broker_id: int, ms: float) -> None:
        """Stop the broker for `ms`, as if the kernel delayed one of its writes. The broker finishes
        its current callback. All its other callbacks wait.
        """
        process = self.brokers[broker_id].process
        if not process.alive:
            return
        self.on_stall(broker_id, ms)
        self._stop(broker_id)
        self.loop.call_later(
            ms / 1000, self._go_on, broker_id, process, context=contextvars.Context()
        )

    def _stop(self, broker_id: int) -> None:
        self._stops[broker_id] += 1
        self.loop.pause(self.brokers[broker_id].process)

    def _go_on(self, broker_id: int, process: SimProcess) -> None:
        """Let the broker run again after a stall, unless it still stands still for a different
        reason, for example because it is paused.
        """
        if process is not self.brokers[broker_id].process:
            return  # It was killed meanwhile.
        self._stops[broker_id] -= 1
        if self._stops[broker_id] == 0:
            self.loop.resume(process)

    def config(self, broker_id: int) -> KafkaConfig:
        """Return the broker's configuration: Kafka's defaults, the settings of the script, and the
        listener.
        """
        given = {**self._properties, **self._broker_properties.get(broker_id, {})}
        properties = {
            "broker.id": str(broker_id),
            **listener_settings("127.0.0.1", self.port(broker_id), given),
            "log.dirs": "/data",
            "zookeeper.connect": "memory:0",
            **given,
        }
        config, _ = make_config(
            {
                key: Setting(value, f"simulated broker {broker_id}")
                for key, value in properties.items()
            }
        )
        return config

    def port(self, broker_id: int) -> int:
        return FIRST_PORT + broker_id

    def start(self, broker_id: int) -> None:
        """Start a broker, for the first time or again. Return when it has started."""
        self.loop.run_until_complete(self.begin_start(broker_id), START_LIMIT_MS)

    def begin_start(self, broker_id: int) -> asyncio.Task[None]:
        """Start a broker, and return the task that is done when it has started. Raises LearnerError
        if a learner's part cannot be loaded.
        """
        broker = self.brokers[broker_id]
        broker.incarnation += 1
        broker.process = SimProcess(f"broker-{broker_id}")
        broker.file_system.restart()
        config = self.config(broker_id)
        self._stops[broker_id] = 0
        if self.supervised:
            child = Source.of_broker(broker_id)
            self.supervisor(ProcessStarted(process=f"broker-{broker_id}", child=child, pid=0))
        seq = broker.tracer.seq if broker.tracer is not None else 0
        broker.tracer = Tracer(Source.of_broker(broker_id), broker.time)
        broker.tracer.seq = seq  # Numbers continue: one order for all events.
        self.listen_to(broker.tracer)
        zk_client = self._new_zk_client(broker, config.zookeeper_session_timeout_ms)
        broker.end_parts()
        if mine := [part for part in self._learners if part.serves_in(broker_id)]:
            try:
                broker.parts = RunningParts(mine, broker.process, broker.tracer)
            except LearnerError as error:
                if self.supervised:
                    self._tell_failed_start(broker_id, f"edu.learner: {error}")
                raise
        broker.server = context_of(broker.process).run(
            KafkaServer,
            config,
            time=broker.time,
            transport=self.network.transport(),
            zk_client=zk_client,
            file_system=broker.file_system,
            random=self._random(f"broker-{broker_id}-{broker.incarnation}"),
            tracer=broker.tracer,
            run_blocking=broker.disk.run_blocking,
            run_clean_job=broker.clean,
        )
        broker.starting = self.loop.spawn(broker.process, broker.server.startup())
        return broker.starting

    def start_all(self) -> None:
        """Start every broker, one after the other, and then let time pass until the cluster is
        stable.
        """
        for passage in self.start_in_passages():
            self.loop.at_once(passage)
        self.raise_uncaught()

    def start_in_passages(self) -> Iterator[Passage]:
        """Yield the passages of virtual time in which `start_all` starts the brokers."""
        for broker_id in self.brokers:
            task = self.begin_start(broker_id)
            yield Passage(START_LIMIT_MS, task)
            task.result()
        yield Passage(1000)

    def run_as(
        self, process: SimProcess, coroutine: Awaitable[T], limit_ms: float = START_LIMIT_MS
    ) -> T:
        """Run a coroutine to its end as part of the simulated process `process`. Return
        its result.
        """

        async def body() -> T:
            return await coroutine

        return self.loop.run_until_complete(self.loop.spawn(process, body()), limit_ms)

    def admin(self, process: SimProcess) -> KafkaZkClient:
        """Return a started ZooKeeper client that runs in `process`. Admin tools have such
        a client.
        """
        admin = KafkaZkClient(
            MemoryZkClient(self.zookeeper, ADMIN_SESSION_MS, "admin"),
            self.time,
            inter_broker_protocol=self.config(min(self.brokers)).inter_broker_protocol_version,
            max_in_flight=1,
        )
        self.run_as(process, admin.start(lambda _: None, lambda _: None, ADMIN_CONNECT_MS))
        return admin

    def kill(self, broker_id: int) -> None:
        """Kill a broker, as with kill -9. None of its code runs any more, and its connections are
        reset. The data that it has written to its files stays, because the page cache survives the
        end of a process.
        """
        broker = self.brokers[broker_id]
        target = Source.of_broker(broker_id)
        asked = 0
        if not self.supervised:
            asked = self.supervisor(ActionAsked(action="kill", target=target))
        with self.supervisor.because(asked) if asked else nullcontext():
            self._tell_end(broker_id, "SIGKILL")
        self.loop.kill(broker.process)
        self.network.process_died(broker.process)
        broker.file_system.release_locks()
        if broker.zk_client is not None:
            broker.zk_client.pause()
        broker.server = None
        broker.end_parts()

    def _tell_end(self, broker_id: int, signal: str) -> None:
        self.supervisor(
            ProcessEnded(
                process=f"broker-{broker_id}",
                child=Source.of_broker(broker_id),
                pid=0,
                code=0,
                signal=signal,
                asked=True,
            )
        )

    def _tell_failed_start(self, broker_id: int, why: str) -> None:
        """Emit the end of a process that could not start, as a real broker's process ends."""
        self.supervisor(
            ProcessEnded(
                process=f"broker-{broker_id}",
                child=Source.of_broker(broker_id),
                pid=0,
                code=1,
                signal="",
                asked=False,
                reason=f"the broker cannot start: {why}",
            )
        )

    def kill_in_write(self, broker_id: int, count: int) -> None:
        """Kill a broker in the middle of a write: when `count` more bytes are written, the rest of
        that write is lost, and the broker is dead. `MemoryFileSystem.restart` cancels this.
        """
        file_system = self.brokers[broker_id].file_system
        # The write is a callback of the broker. The messages to the other ends of its connections
        # must not belong to the broker, because a dead process runs no code.
        file_system.on_crash = lambda: context_of(WORLD).run(self.kill, broker_id)
        file_system.crash_after(count)

    def pause(self, broker_id: int) -> None:
        """Pause a broker, as with SIGSTOP. None of its code runs, and its connections stay open."""
        self._stop(broker_id)
        self.supervisor(
            ProcessPaused(process=f"broker-{broker_id}", child=Source.of_broker(broker_id), pid=0)
        )

    def resume(self, broker_id: int) -> None:
        self._go_on(broker_id, self.brokers[broker_id].process)
        self.supervisor(
            ProcessResumed(process=f"broker-{broker_id}", child=Source.of_broker(broker_id), pid=0)
        )

    def cut(self, a: int, b: int, *, one_way: bool = False) -> Callable[[], None]:
        """Cut the link between two brokers, or only its direction from `a` to `b`. Return the
        function that ends this cut (see `MemoryNetwork.cut`).
        """
        return self.network.cut(self.brokers[a].process, self.brokers[b].process, one_way=one_way)

    def mend(self, a: int, b: int) -> None:
        """End all cuts of the link between two brokers."""
        self.network.mend(self.brokers[a].process, self.brokers[b].process)

    def link_faults(self) -> dict[Link, LinkFault]:
        """Return the state of each link of a broker that is slow or cut: to other brokers, and to
        ZooKeeper. Links to clients are left out.
        """
        found = {
            link: fault
            for ends, fault in self.network.faults().items()
            if (link := self._link_between(ends)) is not None
        }
        for broker in self.brokers.values():
            if broker.zk_client is not None and broker.zk_client.is_cut:
                found[Link(broker.id, side="zookeeper")] = LinkFault(cut=True)
        return found

    def _link_between(self, ends: tuple[str, str]) -> Link | None:
        """Return the link between two processes, the smaller broker id first. Return None if one of
        them is no broker.
        """
        match sorted(one.id for one in self.brokers.values() if one.process.name in ends):
            case [broker, other]:
                return Link(broker, other)
        return None

    def _link_changed(self, ends: tuple[str, str], fault: LinkFault) -> None:
        if (link := self._link_between(ends)) is not None:
            self._tell_link(link, fault)

    def _tell_link(self, link: Link, fault: LinkFault) -> None:
        if self.supervised:
            self.supervisor(LinkChanged(**link._asdict(), **fault._asdict()))

    def _new_zk_client(self, broker: SimBroker, session_timeout_ms: int) -> MemoryZkClient:
        """Give a broker that starts a new client of ZooKeeper. The new client's link works, even if
        the link of the broker's previous client was cut.
        """
        link = Link(broker.id, side="zookeeper")
        if broker.zk_client is not None:
            broker.zk_client.on_cut = lambda is_cut: None
            if broker.zk_client.is_cut:
                self._tell_link(link, WHOLE)
        client = MemoryZkClient(self.zookeeper, session_timeout_ms, f"broker-{broker.id}")
        client.on_cut = lambda is_cut: self._tell_link(link, LinkFault(cut=is_cut))
        broker.zk_client = client
        return client

    def stop(self, broker_id: int) -> None:
        """Stop a broker, as with SIGTERM. Return when its controlled shutdown has ended."""
        self.loop.run_until_complete(self.begin_stop(broker_id), 600_000)

    def begin_stop(self, broker_id: int) -> asyncio.Task[None]:
        """Stop a broker, as with SIGTERM, and return the task that is done when it has ended. A
        broker that is still starting first abandons its start, as `BrokerProcess` does.
        """
        broker = self.brokers[broker_id]
        server, process, starting = broker.running, broker.process, broker.starting

        async def shutdown() -> None:
            if starting is not None and not starting.done():
                starting.cancel()
                await asyncio.wait([starting])
            await server.shutdown("SIGTERM")

        stopping = self.loop.spawn(process, shutdown())

        async def ended() -> None:
            await stopping
            self.loop.kill(process)
            if broker.process is process:
                broker.server = None
                if self.supervised:
                    self._tell_end(broker_id, "")
                if broker.parts is not None:
                    broker.parts.stopped()
                broker.end_parts()

        return self.loop.spawn(WORLD, ended())

    def advance(self, ms: float) -> None:
        """Let `ms` of virtual time pass. Raises AssertionError as `raise_uncaught` does."""
        self.loop.advance(ms)
        self.raise_uncaught()

    def raise_uncaught(self) -> None:
        """Raise AssertionError if a task has raised an exception that no code caught. The error
        shows the first such exception.
        """
        if self.loop.errors:
            first = self.loop.errors[0]
            raise AssertionError(
                f"uncaught in the simulation: {first.get('message')}: {first.get('exception')!r}"
            ) from first.get("exception")

    def facts(self, *kinds: type[Event]) -> list[Envelope]:
        """Return all events of these types that were emitted as facts so far."""
        return [envelope for envelope in self.sink.events if isinstance(envelope.event, kinds)]

    def events_bytes(self) -> bytes:
        """Return every event so far, in the format of a recording. If two runs have the same seed,
        these bytes must be equal.
        """
        return b"".join(map(encode, self.sink.events))

    def close(self) -> None:
        """End the simulation. Everything that was still to happen is dropped.

        Coroutines that are ended by this call emit no events. They end in the order of a set, which
        is not the same in each run.
        """
        self.sink.listeners = []
        self.sink.events = DroppedEvents(self.sink.events)
        with silent_brokers():
            self.loop.close()
        for broker in self.brokers.values():
            broker.end_parts()
