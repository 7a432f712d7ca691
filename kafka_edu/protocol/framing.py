"""Split a stream of bytes into frames (Kafka: NetworkReceive.java).

A frame is an int32 size, followed by that many bytes. A stranger announces the size, so we do not
trust it: nothing is allocated in advance, and memory grows only with bytes that arrived. A frame
that lies whole in the bytes given to one call of `feed` is copied once. A frame that arrives in
pieces grows in one buffer. `BytesIO` hands that buffer over as the frame, so a frame of 100 MB
never needs 200 MB.
"""

from collections.abc import Callable
from io import BytesIO

from kafka_edu.protocol.types import ProtocolError


class InvalidReceive(ProtocolError):
    """A frame's size is not positive, or it is above the maximum.

    The rest of the stream cannot be split into frames, so the connection must be closed. `frames`
    are the frames that were complete before; `prefix` is the four bytes of the size.
    """

    def __init__(self, message: str, frames: list[bytes], prefix: bytes) -> None:
        super().__init__(message)
        self.frames = frames
        self.prefix = prefix


class FrameReceiver:
    """The receiving half of one connection, without the connection itself (sans-IO)."""

    def __init__(self, max_size: int, allocate: Callable[[int], bool] | None = None) -> None:
        """Start with an empty stream.

        `allocate` is called with the size of each frame before the frame is begun. If it returns
        False, `held` is set and nothing more is taken.
        """
        self.max_size = max_size
        """The largest size of a frame that is accepted, in bytes (socket.request.max.bytes)."""
        self._allocate = allocate
        self.held: memoryview | None = None
        """Bytes that were not taken because `allocate` returned False.

        The caller must feed them again. They begin with the size of a frame.
        """
        self.begun = 0
        """The size of the frame that is begun but not complete; 0 if there is none."""
        self._size = bytearray()
        """The first bytes of a size, while fewer than 4 have arrived."""
        self._missing = 0
        """The number of bytes that the begun frame still needs; 0 if no frame is begun."""
        self._partial = BytesIO()
        """The bytes that have arrived of the begun frame."""

    @property
    def between_frames(self) -> bool:
        """Whether every frame that was begun is complete."""
        return not self._missing and not self._size

    @property
    def buffered(self) -> int:
        """The number of bytes kept for a frame that is not complete. O(1)."""
        return len(self._size) + self._partial.tell()

    def feed(self, data: memoryview) -> list[bytes]:
        """Take `data` and return the frames that it completes, in order and without their sizes.

        The receiver copies what it keeps of `data`. O(len(data)). Raises InvalidReceive at the
        first bad size.
        """
        frames: list[bytes] = []
        position = 0
        end = len(data)
        while position < end:
            if self._missing:
                position = self._continue_frame(data, position, frames)
                continue
            if self._size or end - position < 4:
                needed = 4 - len(self._size)
                self._size += data[position : position + needed]
                position += needed
                if len(self._size) < 4:
                    return frames
                size = int.from_bytes(self._size, "big", signed=True)
                self._size.clear()
            else:
                size = int.from_bytes(data[position : position + 4], "big", signed=True)
                position += 4
            if not 0 < size <= self.max_size:
                raise InvalidReceive(
                    f"a frame of {size} bytes is announced; 1 to {self.max_size} are allowed",
                    frames,
                    size.to_bytes(4, "big", signed=True),
                )
            if self._allocate is not None and not self._allocate(size):
                rest = (
                    data[position - 4 :]
                    if position >= 4
                    else memoryview(size.to_bytes(4, "big") + data[position:])
                )
                self.held = rest if rest.readonly else memoryview(bytes(rest))
                return frames
            if size <= end - position:
                frames.append(bytes(data[position : position + size]))
                position += size
            else:
                self._missing = self.begun = size
        return frames

    def _continue_frame(self, data: memoryview, position: int, frames: list[bytes]) -> int:
        """Take what `data` holds of the begun frame; return the position after it."""
        piece = data[position : position + self._missing]
        self._partial.write(piece)
        self._missing -= len(piece)
        if not self._missing:
            self.begun = 0
            frames.append(self._partial.getvalue())  # no copy: the buffer itself
            self._partial = BytesIO()
        return position + len(piece)
