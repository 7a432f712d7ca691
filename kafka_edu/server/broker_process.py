"""What a broker needs of a real process: clocks, sockets, kazoo, disk, threads, signals, and where
its events go.
"""

import asyncio
import contextlib
import faulthandler
import gc
import logging
import os
import random
import resource
import secrets
import signal
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from kafka_edu.common.config_def import ConfigException
from kafka_edu.common.errors import KafkaException
from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import SystemTime
from kafka_edu.learner.learner_trace import trace_learner
from kafka_edu.learner.seams import LearnerCode
from kafka_edu.server.broker_metadata_checkpoint import (
    BrokerMetadataError,
    InconsistentBrokerIdError,
    InconsistentClusterIdError,
)
from kafka_edu.server.kafka_config import KafkaConfig
from kafka_edu.server.kafka_server import KafkaServer, StartupError
from kafka_edu.server.loop_sampler import LoopSampler
from kafka_edu.server.troubles import Troubles
from kafka_edu.trace.event import Level
from kafka_edu.trace.events.network import FileBytesSampled
from kafka_edu.trace.file_sink import FileSink
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.socket_sink import GAUGE_PERIOD_MS, EventServer
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.kazoo_zk_client import KazooZkClient
from kafka_edu.zk.zk_client import ZkError

log = logging.getLogger("kafka_edu.server")

T = TypeVar("T")
HANG_S: Final = 30
REARM_EVERY_TICKS: Final = 10
LAST_EVENTS: Final = 1000
LAST_EVENTS_LOGGED: Final = 30
GC_THRESHOLDS: Final = (50_000, 20, 100)
"""Python looks for cycles each time 700 more objects were made than freed. A broker under load
makes and frees thousands of them for each request, and makes no cycles on that path: what is in
flight would be looked through again and again for nothing.
"""


class OsProcess:
    """This process, as the broker tells of it."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._ticks = 0
        self.sampler = LoopSampler()

    def memory(self) -> tuple[int, int]:
        """RSS and RssAnon from /proc/self/status; 0 where there is no /proc."""
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
        """A loop that hangs for HANG_S seconds gets its stack written to standard error, by a
        thread that needs no interpreter lock.
        """
        self.sampler.tick()
        self._ticks += 1
        if self._ticks % REARM_EVERY_TICKS == 1:
            faulthandler.dump_traceback_later(HANG_S, exit=False)

    def loop_held_by(self) -> str:
        return self.sampler.take()


class BrokerProcess:
    """Runs one KafkaServer until a signal comes or it fails."""

    def __init__(self, config: KafkaConfig, learner: Sequence[LearnerCode] = ()) -> None:
        """`learner`: the code of learners that serves in this process, to be told of."""
        self._config = config
        self._time = SystemTime()
        self._tracer = Tracer(config.broker_id, self._time)
        self._ring = RingSink(LAST_EVENTS)
        self._tracer.add_sink(self._ring)
        troubles = Troubles(self._time)
        self._tracer.add_sink(troubles)
        self._tracer.on_snapshot(troubles.snapshot)
        trace_learner(learner, self._tracer)
        self._stop = asyncio.Event()
        self._reason = ""
        self._workers = ThreadPoolExecutor(
            worker_threads(config), thread_name_prefix="kafka-worker"
        )

    async def run(self) -> int:
        """The exit code."""
        loop = asyncio.get_running_loop()
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
        server = KafkaServer(
            config,
            time=self._time,
            transport=transport,
            zk_client=KazooZkClient(config.zookeeper_connect, config.zookeeper_session_timeout_ms),
            file_system=OsFileSystem(),
            random=random.Random(secrets.randbits(128)),
            tracer=self._tracer,
            run_blocking=self._run_blocking,
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
            # first of all: a broker that runs on these dirs has its events file and its recording
            # beside them
            server.open_log_dirs()
        except StartupError as error:
            log.error("the broker cannot start: %s", error)
            await server.shutdown(f"it could not start: {error}")
            self._workers.shutdown()
            return 1
        with contextlib.ExitStack() as stack:
            tells = [loop.create_task(work) for work in await self._open_sinks(transport, stack)]
            code = await self._serve(server)
            for task in tells:
                task.cancel()
        faulthandler.cancel_dump_traceback_later()
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
        if server.failure:
            log.error(
                "the broker has stopped, for %s", server.failure
            )  # once more: a reader of its last words sees no more than these lines
            return 1
        log.info("the broker has stopped")
        return 0

    def _on_signal(self, name: str) -> None:
        self._reason = self._reason or name
        self._stop.set()

    def _run_blocking(self, call: Callable[[], T]) -> Awaitable[T]:
        return asyncio.get_running_loop().run_in_executor(self._workers, call)

    def _resize_workers(self, threads: int) -> None:
        """So many workers from now on; what the old workers have been given they still do."""
        old, self._workers = (
            self._workers,
            ThreadPoolExecutor(threads, thread_name_prefix="kafka-worker"),
        )
        old.shutdown(wait=False)

    def _log_last_events(self) -> None:
        for envelope in list(self._ring.events)[-LAST_EVENTS_LOGGED:]:
            log.error("event %d %s %s", envelope.seq, envelope.name, envelope.event)

    async def _open_sinks(
        self, transport: SocketTransport, stack: contextlib.ExitStack
    ) -> list[Coroutine[None, None, None]]:
        """Where the configuration wants events to go; what is returned must run as tasks."""
        tells: list[Coroutine[None, None, None]] = []
        config = self._config
        if config.events_file is not None:
            events = EventServer(self._tracer, transport, self._time, secrets.token_hex(16))
            port = await events.listen()
            stack.callback(events.close)
            events.write_address(config.events_file, "127.0.0.1", port)
            stack.callback(remove_quietly, config.events_file)
            tells.append(events.run())
        if config.record_file is not None:
            file = stack.enter_context(open(fresh_recording(config.record_file), "xb"))  # noqa: SIM115 - the stack is the context
            sink = FileSink(self._tracer, file, Level(config.record_level))
            self._tracer.add_sink(sink)
            stack.callback(sink.tick)
            tells.append(self._record(sink))
        return tells

    async def _record(self, sink: FileSink) -> None:
        while True:
            await self._time.sleep(GAUGE_PERIOD_MS)
            sink.tick()


def worker_threads(config: KafkaConfig) -> int:
    """Return how many calls may block at a time: background.threads, or as many as recover (and
    close) all log dirs side by side.

    Kafka starts a pool of num.recovery.threads.per.data.dir threads for each dir; here all share
    one pool, whose threads start when they are needed.
    """
    return max(
        config.background_threads, len(config.log_dirs) * config.num_recovery_threads_per_data_dir
    )


def settle_garbage_collector() -> None:
    """What the start has made stays until the end: freeze it, so that no collection looks at it
    again (nor unshares its pages).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def raise_file_limit() -> None:
    """A broker holds a file for each log and index and a socket for each client: take all that the
    system allows.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # macOS says unlimited, and then refuses it
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def remove_quietly(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


def fresh_recording(path: str) -> str:
    """`path`; an older recording there is moved out of the way, as `path.1`, `path.2` …: each start
    of the broker makes a recording of its own.
    """
    if os.path.exists(path):
        os.rename(path, next(name for name in _numbered(path) if not os.path.exists(name)))
    return path


def _numbered(path: str) -> Iterator[str]:
    number = 1
    while True:
        yield f"{path}.{number}"
        number += 1
