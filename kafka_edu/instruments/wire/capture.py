"""Read the frames that brokers write to capture files, even while they are being written."""

import os
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from kafka_edu.instruments.wire.decode import decode_request, decode_response
from kafka_edu.instruments.wire.tree import Decoded
from kafka_edu.instruments.wire.words import api_name
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.capture_format import (
    CapturedFrame,
    CaptureFormatError,
    check_header,
    decode_frame,
)
from kafka_edu.trace.reader import LeftOut
from kafka_edu.trace.recording_file import open_events, readable_part

#: At most this many frames are kept, the newest ones.
MAX_FRAMES: Final = 5_000
#: At most this many bytes of frames are kept.
MAX_BYTES: Final = 32 * 1024 * 1024
_MAX_LINE: Final = 1024 * 1024
_CHUNKS_A_POLL: Final = 2
_KEYS: Final = {int(key): key for key in ApiKey}

ConnectionKey = tuple[int, str, int]
"""Broker id, connection and correlation id. A request and its response have the same key."""


class CaptureError(Exception):
    """A capture cannot be read. The message says why, and what to do."""


def decode_captured(frame: CapturedFrame) -> Decoded:
    """Return the annotated tree of a captured frame."""
    cut_from = frame.size if frame.is_cut else None
    body_is_hidden = frame.hidden == ("body",)
    key = _KEYS.get(frame.api_key)
    if frame.is_response and key is not None:
        decoded = decode_response(
            frame.data,
            key,
            frame.api_version,
            cut_from=cut_from,
            body_is_hidden=body_is_hidden,
        )
    else:
        decoded = decode_request(frame.data, cut_from=cut_from, body_is_hidden=body_is_hidden)
    for node in decoded.root.walk() if frame.hidden else ():
        if node.name in frame.hidden and node.raw is not None:
            node.value = "hidden: the broker stored * in place of a secret"
            node.folded = True
    return decoded


def key_of(frame: CapturedFrame) -> ConnectionKey:
    """Return the key that a request and its response have in common."""
    return frame.broker_id, frame.connection_id, frame.correlation_id


def title_of(frame: CapturedFrame) -> str:
    """Return the API and version of a frame."""
    name = api_name(frame.api_key)
    return f"{name} v{frame.api_version}" if name else "unreadable"


class Frames:
    """The newest frames of several capture files, in the order of their times."""

    def __init__(self) -> None:
        self._frames: deque[CapturedFrame] = deque()
        self._bytes = 0
        self._pairs: dict[tuple[ConnectionKey, bool], CapturedFrame] = {}
        self.total = 0
        """The number of frames added so far."""

    def __len__(self) -> int:
        return len(self._frames)

    def __iter__(self) -> Iterator[CapturedFrame]:
        return iter(self._frames)

    def add(self, frames: Iterable[CapturedFrame]) -> None:
        """Add frames, which may come from several brokers, and drop the oldest ones."""
        new = sorted(frames, key=lambda frame: (frame.wall_ms, frame.broker_id, frame.number))
        for frame in new:
            late: list[CapturedFrame] = []
            while self._frames and self._frames[-1].wall_ms > frame.wall_ms:
                late.append(self._frames.pop())
            self._frames.append(frame)
            self._frames.extend(reversed(late))
            self._pairs[key_of(frame), frame.is_response] = frame
            self._bytes += len(frame.data)
            self.total += 1
        while len(self._frames) > MAX_FRAMES or self._bytes > MAX_BYTES:
            old = self._frames.popleft()
            self._bytes -= len(old.data)
            place = key_of(old), old.is_response
            if self._pairs.get(place) is old:
                del self._pairs[place]

    def partner(self, frame: CapturedFrame) -> CapturedFrame | None:
        """Return the response to a request, or the request of a response. Return None if that frame
        is not kept.
        """
        return self._pairs.get((key_of(frame), not frame.is_response))

    def find(
        self, connection_id: str, correlation_id: int, *, is_response: bool = False
    ) -> CapturedFrame | None:
        """Return the newest frame of this connection with this correlation id."""
        for frame in reversed(self._frames):
            if (
                frame.connection_id == connection_id
                and frame.correlation_id == correlation_id
                and frame.is_response is is_response
            ):
                return frame
        return None


def read_capture(path: Path, warn: Callable[[str], None] | None = None) -> list[CapturedFrame]:
    """Return the frames of a capture file, after those of the rotated file FILE.1.

    A file with the ending `.gz` is decompressed. `warn` is called with a sentence for each part
    that was left out: damaged lines, or a missing end. The sentence names the file. Raises
    CaptureError.
    """
    older = path.with_name(path.name + ".1")
    found: list[CapturedFrame] = []
    try:
        for each in (older, path) if older.exists() else (path,):
            left_out = LeftOut()
            found += _frames_of(each, left_out)
            if warn is not None:
                for sentence in left_out.sentences():
                    warn(f"{each}: {sentence}")
    except CaptureFormatError as error:
        raise CaptureError(f"{path}: {error}") from error
    except (OSError, zlib.error) as error:
        raise CaptureError(f"{path} cannot be read: {error}") from error
    return found[-MAX_FRAMES:]


def _frames_of(path: Path, left_out: LeftOut) -> Iterator[CapturedFrame]:
    with open_events(path) as file:
        lines = readable_part(file, left_out)
    check_header(lines.readline())
    for number, line in enumerate(lines, 2):
        frame = decode_frame(line)
        if frame is not None:
            yield frame
        elif not line.endswith(b"\n"):
            left_out.end_missing = left_out.end_missing or "its last line is not complete"
        elif not _is_header(line):  # a file may hold several captures
            left_out.damage(f"line {number} is not a frame")


def _is_header(line: bytes) -> bool:
    try:
        check_header(line)
    except CaptureFormatError:
        return False
    return True


class CaptureFollower:
    """Reads a capture file while a broker writes it. The file may not exist yet, and it may
    rotate.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None
        self._inode = 0
        self._rest = b""
        self._header_read = False
        self._is_behind = False
        """Whether the last poll stopped before the end of the file."""

    def poll(self) -> list[CapturedFrame]:
        """Return the new frames. Raises CaptureError for a file of a different format.

        Each call reads at most 2 MiB, so that a caller that draws a screen need not wait long.
        """
        frames: list[CapturedFrame] = []
        try:
            if self._file is None:
                self._open()
            frames += self._read(_CHUNKS_A_POLL)
            if self._is_behind:
                return frames
            if self._has_rotated():
                frames += self._read()
                self.close()
                self._open()
                frames += self._read()
        except OSError:  # the file does not exist yet, or no longer
            self.close()
        except CaptureFormatError as error:
            self.close()
            raise CaptureError(f"{self.path}: {error}") from error
        return frames

    def _open(self) -> None:
        self._file = self.path.open("rb")
        self._inode = os.fstat(self._file.fileno()).st_ino
        self._rest, self._header_read = b"", False

    def _has_rotated(self) -> bool:
        try:
            return self._file is not None and self.path.stat().st_ino != self._inode
        except FileNotFoundError:
            return False

    def _read(self, chunks: int | None = None) -> Iterator[CapturedFrame]:
        """Read to the end of the file, or at most `chunks` chunks of it."""
        self._is_behind = False
        if self._file is None:
            return
        while chunk := self._file.read(_MAX_LINE):
            if chunks is not None:
                chunks -= 1
                self._is_behind = chunks == 0
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            if len(self._rest) > _MAX_LINE:
                self._rest = b""
            for line in lines:
                if not self._header_read:
                    check_header(line)
                    self._header_read = True
                elif (frame := decode_frame(line)) is not None:
                    yield frame
            if self._is_behind:
                return

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()
