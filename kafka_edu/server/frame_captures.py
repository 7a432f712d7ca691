"""Start and stop the capture of network frames into a file, as the configuration says
(`edu.capture.*`).
"""

import logging
from collections.abc import Iterable
from pathlib import Path

from kafka_edu.common.time import Time
from kafka_edu.network.frame_capture import CaptureFile, FrameCapture
from kafka_edu.network.socket_server import SocketServer
from kafka_edu.server.config.kafka_config import KafkaConfig
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.network import (
    FrameCaptureSnapshot,
    FrameCaptureStarted,
    FrameCaptureStopped,
)
from kafka_edu.trace.tracer import Tracer

log = logging.getLogger(__name__)


class FrameCaptures:
    """Keeps the capture that is running. There is at most one."""

    def __init__(
        self, socket_server: SocketServer, broker_id: int, time: Time, trace: Tracer | None
    ) -> None:
        self._socket_server = socket_server
        self._broker_id = broker_id
        self._time = time
        self._trace = trace
        self._capture: FrameCapture | None = None
        self._max_bytes = 0
        if trace:
            trace.on_snapshot(self._snapshot)

    def apply(self, config: KafkaConfig) -> None:
        """Stop the running capture, and start the capture that `config` describes, if it describes
        one.
        """
        clients, path = config.capture_clients, config.capture_file
        self.stop("edu.capture.clients was changed" if clients else "edu.capture.clients is empty")
        if not clients:
            return
        if path is None:
            log.warning(
                "edu.capture.clients is set, but nothing is captured, because edu.capture.file is"
                " not set"
            )
            return
        self._max_bytes = config.capture_max_bytes
        try:
            file = CaptureFile(Path(path), self._max_bytes, self._broker_id)
        except OSError as error:
            self._tell_stopped(path, 0, f"the file cannot be made: {error.strerror or error}")
            return
        self._capture = FrameCapture(clients, file, self._broker_id, self._time, self.stop)
        self._socket_server.set_capture(self._capture)
        if self._trace:
            self._trace(FrameCaptureStarted(clients=clients, file=path, max_bytes=self._max_bytes))

    def stop(self, reason: str) -> None:
        """Stop the running capture, if there is one."""
        capture, self._capture = self._capture, None
        if capture is None:
            return
        self._socket_server.set_capture(None)
        capture.close()
        self._tell_stopped(str(capture.file.path), capture.frames, reason)

    def _tell_stopped(self, path: str, frames: int, reason: str) -> None:
        log.info("the capture of frames in %s has ended: %s", path, reason)
        if self._trace:
            self._trace(FrameCaptureStopped(file=path, frames=frames, reason=reason))

    def _snapshot(self) -> Iterable[Event]:
        if self._capture is not None:
            yield FrameCaptureSnapshot(
                clients=self._capture.clients,
                file=str(self._capture.file.path),
                max_bytes=self._max_bytes,
                frames=self._capture.frames,
            )
