"""Run a metadata proxy as a real process, with real clock, sockets and signals.

It prints its events as lines and can also write them to a recording.
"""

import asyncio
import contextlib
import io
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kafka_edu.clients.proxy.metadata_proxy import MetadataProxy
from kafka_edu.clients.proxy.proxy_server import ProxyServer
from kafka_edu.clients.proxy.target import Address, Target
from kafka_edu.clients.proxy.target_copier import TargetCopier
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import SystemTime
from kafka_edu.common.words import cause_of
from kafka_edu.learner.learner_trace import trace_learner
from kafka_edu.learner.seams import LearnerCode
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.server.config.kafka_config import default_config
from kafka_edu.server.config.part_configs import network_config
from kafka_edu.trace.event import PROXY, Envelope, Level
from kafka_edu.trace.events.proxy import (
    ProxyRefused,
    ProxyStarted,
    ProxyStopped,
    TargetStateChanged,
)
from kafka_edu.trace.file_sink import FileSink
from kafka_edu.trace.recording_file import open_events
from kafka_edu.trace.socket_sink import GAUGE_PERIOD_MS
from kafka_edu.trace.tracer import Tracer

Say = Callable[[str], None]


class TerminalSink:
    """Print the proxy's events as lines of text."""

    level = Level.STATE

    def __init__(self, say: Say) -> None:
        self._say = say

    def accept(self, envelope: Envelope) -> None:
        match envelope.event:
            case ProxyStarted(listener=listener):
                self._say(
                    f"the proxy listens on {listener}: give it to clients as bootstrap.servers"
                )
            case TargetStateChanged(target=target, before=before, after=after, reason=reason):
                self._say(f"{target}: {before} → {after}: {reason}")
            case ProxyRefused(client_id=client, api_key=key, reason=reason):
                self._say(f"client {client or '(no id)'} refused on {ApiKey(key).name}: {reason}")
            case ProxyStopped(
                reason=reason,
                requests=requests,
                refused=refused,
                bytes_in=bytes_in,
                bytes_out=bytes_out,
            ):
                answered = (
                    ", ".join(f"{ApiKey(key).name} {count:,}" for key, count in requests)
                    or "nothing"
                )
                self._say(
                    f"stopped by {reason}; answered: {answered}; refused: {refused:,}; {bytes_in:,}"
                    f" bytes came in, {bytes_out:,} went out"
                )


async def take_copies(targets: Sequence[Target], timeout_ms: float) -> None:
    """Copy the metadata of all targets once, in parallel.

    Each target keeps its copy or its error.
    """
    transport, time = SocketTransport(), SystemTime()
    copiers = [TargetCopier(target, transport, time, timeout_ms) for target in targets]
    await asyncio.gather(*(copier.copy() for copier in copiers))
    for copier in copiers:
        copier.close()


class ProxyProcess:
    """Run one proxy until SIGTERM or SIGINT arrives, or until it fails."""

    def __init__(
        self, say: Say, events_file: Path | None, learners: Sequence[LearnerCode] = ()
    ) -> None:
        """Prepare the process. `learners` are the parts of the proxy that a learner wrote.

        These parts are closed when the proxy ends.
        """
        self._say = say
        self._events_file = events_file
        self._time = SystemTime()
        self._stop = asyncio.Event()
        self._reason = ""
        self._learners = learners
        self.tracer = Tracer(PROXY, self._time)
        self.tracer.add_sink(TerminalSink(say), "the terminal")

    async def run(
        self, listen: Address, proxy: MetadataProxy, *, refresh_ms: float, timeout_ms: float
    ) -> int:
        """Run the proxy. Return 0 after a signal, 1 if it could not start or a part failed."""
        server = ProxyServer(
            listen.host,
            listen.port,
            proxy,
            SocketTransport(),
            self._time,
            self.tracer,
            network_config(default_config()),
            refresh_ms=refresh_ms,
            timeout_ms=timeout_ms,
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._on_signal, number.name)
        try:
            file = None if self._events_file is None else open_events(self._events_file, "wb")
        except OSError as unwritable:
            self._say(
                f"the proxy cannot start: cannot write {self._events_file}: {unwritable.strerror}"
            )
            return 1
        with self._recording(file), self._serving():
            started = asyncio.ensure_future(server.startup())
            stopped = asyncio.ensure_future(self._stop.wait())
            await asyncio.wait([started, stopped], return_when=asyncio.FIRST_COMPLETED)
            if started.done() and (error := started.exception()) is not None:
                self._say(
                    "the proxy cannot start:"
                    f" {cause_of(error) if isinstance(error, OSError) else error}"
                )
                return 1
            started.cancel()
            failed = asyncio.ensure_future(server.failed.wait())
            await asyncio.wait([failed, stopped], return_when=asyncio.FIRST_COMPLETED)
            for task in (failed, stopped):
                task.cancel()
            await server.shutdown(self._reason or f"a failure: {server.failure!r}")
        return 0 if self._reason else 1

    def _on_signal(self, name: str) -> None:
        self._reason = self._reason or name
        self._stop.set()

    @contextlib.contextmanager
    def _serving(self) -> Iterator[None]:
        """Emit events about the learners' code at the start and at the end of the block.

        After the last event, close the code.
        """
        ended = trace_learner(self._learners, self.tracer)
        try:
            yield
        finally:
            ended()
            for code in self._learners:
                code.close()

    @contextlib.contextmanager
    def _recording(self, file: io.BufferedIOBase | None) -> Iterator[None]:
        """Write all events of the block to the file, in addition to the printed lines.

        Close the file at the end of the block.
        """
        if file is None:
            yield
            return
        sink = FileSink(self.tracer, file)
        sink.attach(f"the recording {self._events_file}")
        ticking = asyncio.ensure_future(self._tick(sink))
        try:
            yield
        finally:
            ticking.cancel()
            sink.close()

    async def _tick(self, sink: FileSink) -> None:
        while True:
            sink.tick()
            await self._time.sleep(GAUGE_PERIOD_MS)
