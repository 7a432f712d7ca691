"""Capture the frames of chosen clients in a file, for the wire microscope (`edu.capture.*`).

While nothing is captured, a processor has no FrameCapture, and each request only needs one check.
During a capture, a request of a client that was not chosen takes 0.15 µs longer. A request of a
chosen client takes 12 µs longer if it has 1 KB, and 0.3 ms longer if 64 KiB of it are kept.

Each frame of the chosen clients is written to the file at once. So readers of the file see the
frame at once, and it is not lost by a kill -9. Long frames are cut. When a file has half of the
allowed size, it is renamed to `FILE.1`, and a new file begins. Secrets are hidden before anything
is written (`kafka_edu.protocol.secrets`).

If the file cannot be written, or a frame cannot be decoded, the capture ends with an event. The
requests are handled as usual.
"""

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from kafka_edu.common.time import Time
from kafka_edu.common.transport import FileRegion, LazyPart, Part, part_bytes, part_size
from kafka_edu.network.request import Request
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.capture_format import UNKNOWN, CapturedFrame, encode_frame, encode_header
from kafka_edu.protocol.headers import response_header_version
from kafka_edu.protocol.secrets import SECRET_FIELDS, without_secrets

log = logging.getLogger(__name__)

#: The maximum number of bytes of a frame that are kept. The rest of a longer frame is cut off.
KEPT_BYTES: Final = 64 * 1024
#: The number of bytes kept of a frame with an unknown API key: its size and its key. Such a frame
#: may contain anything, even a password that was sent to the wrong port.
_KEPT_OF_UNKNOWN: Final = 6
#: The number of bytes kept of a frame with an unreadable header, if its API carries secrets. They
#: end with the correlation id.
_KEPT_OF_SECRET: Final = 12
ALL_CLIENTS: Final = "*"
LEFT_OUT: Final = "-"
_KEYS: Final = {int(key): key for key in ApiKey}


class CaptureFile:
    """The capture's file and the previous file `.1`; together at most `max_bytes`."""

    def __init__(self, path: Path, max_bytes: int, broker_id: int) -> None:
        """Begin a new file; an existing file of an earlier capture is renamed to `.1`.

        Raises OSError.
        """
        self.path = path
        self._max_bytes = max_bytes
        self._header = encode_header(broker_id)
        self._file: BinaryIO | None = None
        self._size = 0
        self._begin()

    @property
    def older(self) -> Path:
        return self.path.with_name(self.path.name + ".1")

    def _begin(self) -> None:
        self.close()
        if self.path.exists():
            self.path.replace(self.older)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._file = open(descriptor, "wb", buffering=0)  # noqa: SIM115 - close() closes it
        self._file.write(self._header)
        self._size = len(self._header)

    def write(self, line: bytes) -> None:
        """Write one line. Raises OSError, even if only a part of the line fits on the disk."""
        if self._size + len(line) > self._max_bytes // 2:
            self._begin()
        if self._file is None:
            return
        rest = memoryview(line)
        while rest:  # a full disk takes a part of the line first, and then raises
            written = self._file.write(rest)
            self._size += written
            rest = rest[written:]

    def close(self) -> None:
        """Close the file; an error at the close is ignored."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                file.close()


class _Names:
    """A set of client ids, and of prefixes of client ids (given with `*` at their end)."""

    def __init__(self, names: Iterable[str]) -> None:
        given = tuple(names)
        self._ids = frozenset(name for name in given if not name.endswith(ALL_CLIENTS))
        self._prefixes = tuple(name[:-1] for name in given if name.endswith(ALL_CLIENTS))

    def has(self, name: str) -> bool:
        return name in self._ids or name.startswith(self._prefixes)


class FrameCapture:
    """One capture, from its start to its end; used only in the broker's event loop."""

    def __init__(
        self,
        clients: Sequence[str],
        file: CaptureFile,
        broker_id: int,
        time: Time,
        on_failure: Callable[[str], None],
    ) -> None:
        """Start a capture into `file`.

        `clients` are client ids, or prefixes that end with `*`. A client id or prefix that begins
        with `-` is not captured. `on_failure` is called with the reason when a frame cannot be
        captured or written; it must end the capture.
        """
        self.clients = tuple(clients)
        self.file = file
        self.frames = 0
        """The number of frames captured so far."""
        self._in = _Names(name for name in clients if not name.startswith(LEFT_OUT))
        self._out = _Names(name[1:] for name in clients if name.startswith(LEFT_OUT))
        self._broker_id = broker_id
        self._time = time
        self._on_failure = on_failure
        self._ended = False

    def wants(self, client_id: str | None) -> bool:
        """Return whether the frames of this client are captured."""
        name = client_id or ""
        return self._in.has(name) and not self._out.has(name)

    def request(self, request: Request) -> None:
        """Capture a request that has just arrived, if its client is one of the chosen ones."""
        header = request.header
        if self.wants(header.client_id):
            self._try(lambda: self._request(request))

    def _request(self, request: Request) -> None:
        header = request.header
        frame, hidden = without_secrets(
            ApiKey(header.api_key),
            header.api_version,
            request.frame,
            request.body_offset,
            is_response=False,
        )
        self._write(
            request.connection_id,
            is_response=False,
            client_id=header.client_id,
            api=(header.api_key, header.api_version, header.correlation_id),
            size=len(frame) + 4,
            data=len(frame).to_bytes(4, "big") + frame[: KEPT_BYTES - 4],
            hidden=hidden,
        )

    def response(self, request: Request, parts: Sequence[Part]) -> None:
        """Capture a response that is about to be sent, if its client is one of the chosen ones."""
        header = request.header
        if self.wants(header.client_id):
            self._try(lambda: self._response(request, parts))

    def _response(self, request: Request, parts: Sequence[Part]) -> None:
        header = request.header
        key = ApiKey(header.api_key)
        size = sum(map(part_size, parts))
        hidden: tuple[str, ...] = ()
        if key in SECRET_FIELDS:
            data = _first_bytes(parts, size)
            offset = 9 if response_header_version(key, header.api_version) else 8
            data, hidden = without_secrets(key, header.api_version, data, offset, is_response=True)
            data = data[:KEPT_BYTES]
        else:
            data = _first_bytes(parts, KEPT_BYTES)
        self._write(
            request.connection_id,
            is_response=True,
            client_id=header.client_id,
            api=(header.api_key, header.api_version, header.correlation_id),
            size=size,
            data=data,
            hidden=hidden,
        )

    def unreadable(self, connection_id: str, client_id: str, data: bytes) -> None:
        """Capture bytes that are not a valid request: a forbidden size, or a broken header.

        `data` begins with the size field. `client_id` is from the connection's previous request.
        """
        if self.wants(client_id):
            self._try(lambda: self._unreadable(connection_id, client_id, data))

    def _try(self, capture: Callable[[], None]) -> None:
        """Capture one frame. If that raises an exception, the capture ends, and the request is
        handled as usual.
        """
        if self._ended:
            return
        try:
            capture()
        except Exception as error:
            self._ended = True
            if isinstance(error, OSError):
                reason = f"{self.file.path} cannot be written: {error.strerror or error}"
            else:
                log.exception("the capture of frames in %s failed", self.file.path)
                reason = f"a frame could not be captured: {type(error).__name__}: {error}"
            self._on_failure(reason)

    def _unreadable(self, connection_id: str, client_id: str, data: bytes) -> None:
        key = _KEYS.get(int.from_bytes(data[4:6], "big", signed=True)) if len(data) >= 6 else None
        if key is None:
            kept = data[:_KEPT_OF_UNKNOWN]
        else:
            kept = data[: _KEPT_OF_SECRET if key in SECRET_FIELDS else KEPT_BYTES]
        self._write(
            connection_id,
            is_response=False,
            client_id=client_id,
            api=(UNKNOWN, UNKNOWN, UNKNOWN),
            size=len(data),
            data=kept,
            hidden=(),
        )

    def _write(
        self,
        connection_id: str,
        *,
        is_response: bool,
        client_id: str | None,
        api: tuple[int, int, int],
        size: int,
        data: bytes,
        hidden: tuple[str, ...],
    ) -> None:
        key, version, correlation_id = api
        frame = CapturedFrame(
            number=self.frames + 1,
            wall_ms=self._time.milliseconds(),
            broker_id=self._broker_id,
            connection_id=connection_id,
            is_response=is_response,
            client_id=client_id or "",
            api_key=key,
            api_version=version,
            correlation_id=correlation_id,
            size=size,
            data=data,
            hidden=hidden,
        )
        self.file.write(encode_frame(frame))
        self.frames += 1

    def close(self) -> None:
        self._ended = True
        self.file.close()


def _first_bytes(parts: Sequence[Part], most: int) -> bytes:
    """Return the first bytes of a response, at most `most`.

    Records that lie in a file are read from it. A lazy part ends the result, because its bytes can
    be produced only once.
    """
    out = bytearray()
    for part in parts:
        left = most - len(out)
        if left <= 0 or isinstance(part, LazyPart):
            break
        if isinstance(part, FileRegion):
            part = FileRegion(part.file, part.position, min(part.length, left))
        try:
            out += memoryview(part_bytes(part))[:left]
        except OSError:  # the wire gets the same error, and closes the connection
            break
    return bytes(out)
