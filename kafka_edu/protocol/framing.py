"""Split a stream of bytes into frames (Kafka: NetworkReceive.java).

A frame is an int32 size, followed by that many bytes. The sender may be malicious, so the announced
size may be wrong. Therefore memory is allocated only for bytes that have arrived, and never in
advance. A frame that is complete in the bytes of one `feed` call is copied once. A frame that
arrives in pieces is collected in one `BytesIO` buffer. The buffer itself becomes the frame and is
not copied, so a frame of 100 MB never needs 200 MB.
"""

from collections.abc import Callable
from io import BytesIO

from kafka_edu.protocol.types import ProtocolError


class InvalidReceive(ProtocolError):
    """A frame's size is not positive, or it is above the maximum.

    The rest of the stream cannot be split into frames, so the connection must be closed. `frames`
    are the complete frames before the wrong size. `prefix` has the four bytes of the wrong size.
    """

    def __init__(self, message: str, frames: list[bytes], prefix: bytes) -> None:
        super().__init__(message)
        self.frames = frames
        self.prefix = prefix


class FrameReceiver:
    """Collects the received bytes of one connection into frames. It does no I/O itself."""

    def __init__(self, max_size: int, allocate: Callable[[int], bool] | None = None) -> None:
        """Start with an empty stream.

        `allocate` is called with the size of each frame before its bytes are collected. If it
        returns False, `held` is set, and no more bytes are taken.
        """
        self.max_size = max_size
        """The largest size of a frame that is accepted, in bytes (socket.request.max.bytes)."""
        self._allocate = allocate
        self.held: memoryview | None = None
        """Bytes that were not taken because `allocate` returned False.

        The caller must pass them to `feed` again. They begin with the size of a frame.
        """
        self.begun = 0
        """The size in bytes of the frame that has begun but is not complete. 0 if there is none."""
        self._size = bytearray()
        """The first bytes of a size, while fewer than 4 have arrived."""
        self._missing = 0
        """The number of bytes that are missing in the begun frame. 0 if no frame has begun."""
        self._partial = BytesIO()
        """The bytes of the begun frame that have arrived."""

    @property
    def between_frames(self) -> bool:
        """Whether the bytes so far end exactly at the end of a frame."""
        return not self._missing and not self._size

    @property
    def buffered(self) -> int:
        """The number of bytes that are kept for a frame that is not complete yet. O(1)."""
        return len(self._size) + self._partial.tell()

    def drop(self) -> int:
        """Drop all bytes that are kept, because the connection is closed. Return the size of the
        begun frame, or 0.

        The two objects of a connection, wire and channel, refer to each other. So only the garbage
        collector frees them, some time later, but the bytes of a large frame must be freed at once.
        """
        begun, self.begun = self.begun, 0
        self.held = None
        self._missing = 0
        self._size.clear()
        self._partial = BytesIO()
        return begun

    def feed(self, data: memoryview) -> list[bytes]:
        """Take the received bytes, and return the frames that are now complete, without their
        sizes.

        The frames are in order. Bytes of an incomplete frame are copied and kept. O(len(data)).
        Raises InvalidReceive at the first invalid size.
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
        """Take the bytes of `data` from `position` on that belong to the begun frame.

        Return the position after these bytes. A frame that is now complete is added to `frames`.
        """
        piece = data[position : position + self._missing]
        self._partial.write(piece)
        self._missing -= len(piece)
        if not self._missing:
            self.begun = 0
            frames.append(self._partial.getvalue())  # no copy: the buffer itself
            self._partial = BytesIO()
        return position + len(piece)
