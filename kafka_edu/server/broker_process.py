"""Run a broker in a real process.

The broker uses the system's clock, sockets, disk, threads and signals, kazoo as the ZooKeeper
client, and the configured outputs for its events.
"""

import asyncio
import contextlib
import gc
import logging
import os
import random
import resource
import secrets
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from kafka_edu.common.config_def import ConfigException
from kafka_edu.common.dir_quota import file_system
from kafka_edu.common.errors import KafkaException
from kafka_edu.common.gc_thresholds import GC_THRESHOLDS
from kafka_edu.common.heap import collect_garbage, heap_trimmer
from kafka_edu.common.link_faults import FaultyTransport, LinkFault
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import SystemTime
from kafka_edu.learner.learner_trace import trace_learner
from kafka_edu.learner.seams import LearnerCode
from kafka_edu.server.broker_metadata_checkpoint import (
    BrokerMetadataError,
    InconsistentBrokerIdError,
    InconsistentClusterIdError,
)
from kafka_edu.server.cleaner_process import run_in_a_process
from kafka_edu.server.config.kafka_config import KafkaConfig
from kafka_edu.server.health.loop_sampler import LoopSampler
from kafka_edu.server.health.loop_watchdog import LoopHeld
from kafka_edu.server.health.repairs import Repairs
from kafka_edu.server.health.troubles import Troubles
from kafka_edu.server.kafka_server import KafkaServer, StartupError
from kafka_edu.trace.event import Level, Source
from kafka_edu.trace.events.network import FileBytesSampled
from kafka_edu.trace.events.server import LinkFaultChanged, LinkReset
from kafka_edu.trace.file_sink import FileSink
from kafka_edu.trace.recording_file import open_events
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.socket_sink import GAUGE_PERIOD_MS, EventServer
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.kazoo_zk_client import KazooZkClient
from kafka_edu.zk.zk_client import ZkError

log = logging.getLogger("kafka_edu.server")

T = TypeVar("T")
LAST_EVENTS: Final = 1000
GIVE_BACK_EVERY_MS: Final = 60_000
GARBAGE_REST: Final = 1_000
"""After a search for garbage that took t ms, the next search begins at least 1,000 · t ms later.

So searches take at most 1/1,000 of the time, even in a large broker.
"""
LAST_EVENTS_LOGGED: Final = 30


class OsProcess:
    """Reads facts about this process, such as memory and CPU time, from the operating system."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.sampler = LoopSampler()

    def memory(self) -> tuple[int, int]:
        """Return RSS and RssAnon in bytes from /proc/self/status. Both are 0 on a system without
        /proc.
        """
        found = {"VmRSS": 0, "RssAnon": 0}
        with contextlib.suppress(OSError), open("/proc/self/status") as status:
            for line in status:
                key, _, value = line.partition(":")
                if key in found:
                    found[key] = int(value.split()[0]) * 1024
        return found["VmRSS"], found["RssAnon"]

    def cpu_ms(self) -> int:
        return time.thread_time_ns() // 1_000_000

    def rearm_watchdog(self) -> None:
        """Record that the loop is alive. If the loop hangs after that, the sampler's thread writes
        the stacks to standard error.
        """
        self.sampler.tick()

    def loop_held(self) -> LoopHeld:
        return self.sampler.take()


class BrokerProcess:
    """Runs one KafkaServer until a signal arrives or the server fails."""

    def __init__(self, config: KafkaConfig, learner: Sequence[LearnerCode] = ()) -> None:
        """`learner` lists the learners' code that runs in this process.

        The broker's events contain the names of this code.
        """
        self._config = config
        self._time = SystemTime()
        self._tracer = Tracer(Source.of_broker(config.broker_id), self._time)
        self._ring = RingSink(LAST_EVENTS)
        self._tracer.add_sink(self._ring, "the ring of last events")
        repairs = Repairs()
        self._tracer.add_sink(repairs, "the list of repairs")
        self._tracer.on_snapshot(repairs.snapshot)
        troubles = Troubles(self._time)
        self._tracer.add_sink(troubles, "the list of troubles")
        self._tracer.on_snapshot(troubles.snapshot)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tell_learners_end = trace_learner(learner, self._tracer, self._in_turn)
        self._stop = asyncio.Event()
        self._reason = ""
        self._workers = ThreadPoolExecutor(
            worker_threads(config), thread_name_prefix="kafka-worker"
        )

    def _in_turn(self, emit: Callable[[], object]) -> None:
        """Call `emit` at once if this is the loop's thread.

        From a worker's thread, make the loop call `emit` in its next turn.
        """
        if self._loop is None or threading.current_thread() is threading.main_thread():
            emit()
        else:
            self._loop.call_soon_threadsafe(emit)

    async def run(self) -> int:
        """Run the broker, and return the exit code."""
        self._loop = loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, number.name)
        raise_file_limit()
        transport = SocketTransport()
        process = OsProcess()
        process.sampler.start()
        self._tracer.on_gauges(
            lambda: [
                FileBytesSampled(
                    by_sendfile_total=transport.file_bytes.by_sendfile,
                    read_total=transport.file_bytes.read,
                )
            ]
        )
        config = self._config
        links = FaultyTransport(transport)
        zk_client = KazooZkClient(config.zookeeper_connect, config.zookeeper_session_timeout_ms)
        server = KafkaServer(
            config,
            time=self._time,
            transport=links,
            zk_client=zk_client,
            file_system=file_system(config.log_dirs, config.log_dir_quota_bytes),
            random=random.Random(secrets.randbits(128)),
            tracer=self._tracer,
            run_blocking=self._run_blocking,
            run_clean_job=run_in_a_process,
            process=process,
        )
        server.dynamic_config.add(
            {"background.threads"}, lambda config: self._resize_workers(worker_threads(config))
        )
        loop.set_exception_handler(
            lambda _, context: server.on_failure(
                str(context.get("message")), context.get("exception") or RuntimeError()
            )
        )
        try:
            # Lock the log dirs before other files are opened. If a broker already runs on these
            # dirs, that broker's events file and recording are there too.
            server.open_log_dirs()
        except StartupError as error:
            log.error("the broker cannot start: %s", error)
            await server.shutdown(f"it could not start: {error}")
            self._workers.shutdown()
            return 1
        with contextlib.ExitStack() as stack:
            work = await self._open_sinks(transport, links, zk_client, stack)
            tells = [loop.create_task(each) for each in (*work, self._give_back_memory())]
            code = await self._serve(server)
            for task in tells:
                task.cancel()
        process.sampler.stop()
        self._workers.shutdown()
        return code

    async def _serve(self, server: KafkaServer) -> int:
        try:
            started = asyncio.ensure_future(server.startup())
            stopped = asyncio.ensure_future(self._stop.wait())
            await asyncio.wait([started, stopped], return_when=asyncio.FIRST_COMPLETED)
            if not started.done():
                started.cancel()
                await asyncio.wait([started])
            if not started.cancelled():
                started.result()
                log.info("broker %d of cluster %s started", server.broker_id, server.cluster_id)
                settle_garbage_collector()
        except (
            OSError,
            ZkError,
            StartupError,
            ConfigException,
            KafkaException,
            InconsistentBrokerIdError,
            InconsistentClusterIdError,
            BrokerMetadataError,
        ) as error:
            log.error("the broker cannot start: %s", error)
            await server.shutdown(f"it could not start: {error}")
            return 1
        failed = asyncio.ensure_future(server.failed.wait())
        await asyncio.wait([failed, stopped], return_when=asyncio.FIRST_COMPLETED)
        reason = server.failure or self._reason
        log.info("the broker stops: %s", reason)
        if server.failure:
            self._log_last_events()
        await server.shutdown(reason)
        self._tell_learners_end()
        if server.failure:
            log.error(
                "the broker has stopped, because %s", server.failure
            )  # repeated, because a user often sees only the last lines of the log
            return 1
        log.info("the broker has stopped")
        return 0

    def _on_signal(self, name: str) -> None:
        self._reason = self._reason or name
        self._stop.set()

    def _run_blocking(self, call: Callable[[], T]) -> Awaitable[T]:
        return asyncio.get_running_loop().run_in_executor(self._workers, call)

    def _resize_workers(self, threads: int) -> None:
        """Replace the pool of workers with a pool of the new size. The old workers finish the calls
        that they already have.
        """
        old, self._workers = (
            self._workers,
            ThreadPoolExecutor(threads, thread_name_prefix="kafka-worker"),
        )
        old.shutdown(wait=False)

    def _log_last_events(self) -> None:
        for envelope in list(self._ring.events)[-LAST_EVENTS_LOGGED:]:
            log.error("event %d %s %s", envelope.seq, envelope.name, envelope.event)

    async def _open_sinks(
        self,
        transport: SocketTransport,
        links: FaultyTransport,
        zk_client: KazooZkClient,
        stack: contextlib.ExitStack,
    ) -> list[Coroutine[None, None, None]]:
        """Open the outputs of events that the configuration names. The caller must run the returned
        coroutines as tasks. If an output cannot be opened, the broker starts without it.
        """
        tells: list[Coroutine[None, None, None]] = []
        config = self._config
        if config.events_file is not None:
            events = EventServer(
                self._tracer,
                transport,
                self._time,
                secrets.token_hex(16),
                ring_minutes=config.trace_ring_minutes,
                ring_bytes=config.trace_ring_bytes,
                on_control=partial(_control, links, zk_client, self._tracer),
            )
            stack.callback(events.close)
            if await events.publish(config.events_file):
                stack.callback(remove_quietly, config.events_file)
                tells.append(events.run())
        if config.record_file is not None:
            name = f"the recording {config.record_file}"
            try:
                file = open_events(Path(fresh_recording(config.record_file)), "xb")
            except OSError as error:
                self._tracer.say_failed(name, error)
            else:
                sink = FileSink(
                    self._tracer,
                    file,
                    Level(config.record_level),
                    hops_per_second=config.record_hops_per_second,
                    gauges=config.record_gauges,
                )
                sink.attach(name)
                stack.callback(sink.close)
                tells.append(self._record(sink))
        return tells

    async def _give_back_memory(self) -> None:
        """Free unused reference cycles, then return free memory to the operating system. Repeat
        this for ever, once a minute or less often.
        """
        trim = heap_trimmer()
        rest_ms: float = GIVE_BACK_EVERY_MS
        while True:
            await self._time.sleep(rest_ms)
            rest_ms = max(GIVE_BACK_EVERY_MS, GARBAGE_REST * collect_garbage())
            if trim is not None:
                await self._run_blocking(trim)

    async def _record(self, sink: FileSink) -> None:
        while True:
            await self._time.sleep(GAUGE_PERIOD_MS)
            sink.tick()


def worker_threads(config: KafkaConfig) -> int:
    """Return how many calls may block at the same time. This is background.threads, or the number
    of threads that recover or close all log dirs in parallel, if that number is larger.

    Kafka starts num.recovery.threads.per.data.dir threads for each log dir. In this project all log
    dirs share one pool of threads. Each thread starts when it is needed.
    """
    return max(
        config.background_threads, len(config.log_dirs) * config.num_recovery_threads_per_data_dir
    )


def settle_garbage_collector() -> None:
    """Exclude the objects that exist after the start from garbage collection, because they live
    until the end. Collections then take less time and do not write to the memory pages of these
    objects. `main` has already excluded the imported modules, so this call takes only a few ms.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def raise_file_limit() -> None:
    """Raise the limit of open files to the maximum that the system allows. A broker needs open
    files for each log and index, and a socket for each client.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # MacOS reports "unlimited", but refuses that value.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def remove_quietly(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


def fresh_recording(path: str) -> str:
    """Return `path`. If an older recording exists there, first rename it to the next free name
    `path.1`, `path.2` and so on. So each start of the broker makes a new recording. `events.gz`
    becomes `events.1.gz`, because the suffix shows that the recording is compressed.
    """
    if os.path.exists(path):
        os.rename(path, next(name for name in _numbered(path) if not os.path.exists(name)))
    return path


def _numbered(path: str) -> Iterator[str]:
    number = 1
    packed = ".gz" if path.endswith(".gz") else ""
    while True:
        yield f"{path.removesuffix(packed)}.{number}{packed}"
        number += 1


async def _control(
    links: FaultyTransport,
    zk_client: KazooZkClient,
    tracer: Tracer,
    request: Mapping[str, object],
) -> Mapping[str, object]:
    """Carry out a control request of the supervisor: set the state of links, reset links, or expire
    this broker's ZooKeeper session (M4). Raises ValueError for an unknown request, OSError.
    """
    match request:
        case {"control": "link", "ports": list(ports), "delay_ms": int(delay_ms), "cut": bool(cut)}:
            for port in ports:
                links.set_fault(int(port), LinkFault(delay_ms, cut))
            if request.get("hidden") is not True:  # an exercise hides the act from the learner
                tracer(LinkFaultChanged(ports=tuple(map(int, ports)), delay_ms=delay_ms, cut=cut))
            return {}
        case {"control": "reset-link", "ports": list(ports)}:
            closed = sum(links.reset(int(port)) for port in ports)
            tracer(LinkReset(ports=tuple(map(int, ports)), connections=closed))
            return {"connections": closed}
        case {"control": "expire-session"}:
            return {"session_id": await zk_client.expire_session()}
    raise ValueError(f"there is no control '{request.get('control')}' with these fields")
