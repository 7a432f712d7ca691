"""The content of a file in memory, which grows without being copied.

A large bytearray that grows has to move to a new place now and then. Small objects soon fill a part
of the place that it has left, so a still larger array does not fit there again. When the logs of
three simulated brokers grew by 0.1 MB, the process grew by 0.28 MB. In a web page Python never
gives memory back. So the content is kept in pieces: a full piece never moves.
"""

from typing import Final

PIECE: Final = 1 << 16
"""The size of a piece, in bytes."""


class GrowingBytes:
    """Bytes in pieces of PIECE bytes. Only the last piece may be shorter."""

    __slots__ = ("_pieces", "_size")

    def __init__(self, data: bytes = b"") -> None:
        self._pieces: list[bytearray] = []
        self._size = 0
        self.write(data, 0)

    def __len__(self) -> int:
        return self._size

    def read(self, begin: int, end: int) -> bytes:
        """Return the bytes from `begin` up to `end`, or up to the last byte. O(end - begin)."""
        end = min(end, self._size)
        if begin >= end:
            return b""
        first, offset = divmod(begin, PIECE)
        if end <= (first + 1) * PIECE:
            return bytes(self._pieces[first][offset : end - first * PIECE])
        last = (end - 1) // PIECE
        return b"".join(
            (
                self._pieces[first][offset:],
                *self._pieces[first + 1 : last],
                self._pieces[last][: end - last * PIECE],
            )
        )

    def write(self, data: bytes, position: int) -> None:
        """Write `data` at `position`, over bytes that are there, and then behind the last byte.
        Zeros fill the space between the last byte and `position`. O(data and these zeros).
        """
        if position > self._size:
            self.write(bytes(position - self._size), self._size)
        pieces, done = self._pieces, 0
        while done < len(data):
            number, offset = divmod(position + done, PIECE)
            part = data[done : done + PIECE - offset]
            if number == len(pieces):
                pieces.append(bytearray())
            pieces[number][offset : offset + len(part)] = part
            done += len(part)
        self._size = max(self._size, position + done)

    def truncate(self, size: int) -> None:
        """Forget the bytes from `size` on, if there are any."""
        if size < self._size:
            whole, rest = divmod(size, PIECE)
            del self._pieces[whole + bool(rest) :]
            if rest:
                del self._pieces[whole][rest:]
            self._size = size
