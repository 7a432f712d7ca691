"""The rules of exercise 01-1, and explanations for wrong answers."""

from typing import Final, NamedTuple

from kafka_edu.protocol.types import unsigned_varint, varint, varlong

Answer = tuple[str, object, int] | tuple[str, int]
"""("value", value, next), ("more", missing bytes), or ("wrong", place): the answer of `read`."""


class Rules(NamedTuple):
    """The right answers for varints of 32 or 64 bits."""

    bits: int

    @property
    def most_bytes(self) -> int:
        """The number of bytes of the longest number."""
        return -(-self.bits // 7)

    @property
    def last_byte_limit(self) -> int:
        """The last byte of the longest number must be below this limit."""
        return 1 << self.bits - 7 * (self.most_bytes - 1)

    def write(self, number: int) -> bytes:
        """Return the bytes of a number, as the broker's own codec makes them."""
        return varint(number) if self.bits == 32 else varlong(number)

    def read(self, data: bytes, at: int) -> Answer:
        """Return the right answer of `read`."""
        raw = 0
        for index in range(self.most_bytes):
            if at + index >= len(data):
                return "more", 1
            byte = data[at + index]
            if index == self.most_bytes - 1 and byte >= self.last_byte_limit:
                return "wrong", at + index
            raw |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                return "value", (raw >> 1) ^ -(raw & 1), at + index + 1
        raise AssertionError("the last byte has no highest bit")

    def read_bytes(self, data: bytes, at: int) -> Answer:
        """Return the right answer of `read_bytes`."""
        match self.read(data, at):
            case ("value", -1, int(begin)):
                return "value", None, begin
            case ("value", int(length), int()) if length < -1:
                return "wrong", at
            case ("value", int(length), int(begin)):
                end = begin + length
                missing = end - len(data)
                return ("more", missing) if missing > 0 else ("value", data[begin:end], end)
            case answer:
                return answer

    def why_written(self, number: int, came: object) -> str:
        """Return an explanation why the answer `came` of `write` is wrong."""
        two_complement = number & ((1 << self.bits) - 1)
        zigzag = 2 * number if number >= 0 else -2 * number - 1
        if came == unsigned_varint(two_complement):
            return f"that is {number} without zigzag. Zigzag first makes {zigzag} of it"
        if isinstance(came, bytes) and came.hex() in _high_first(zigzag):
            return "the lowest 7 bits come first, and the last byte has no highest bit"
        groups = self.write(number)
        return (
            f"zigzag makes {zigzag} of {number}; in groups of 7 bits, the lowest first:"
            f" {', '.join(f'{byte & 0x7F:07b}' for byte in groups)}"
        )

    def why_read(self, data: bytes, at: int) -> str:
        """Return an explanation of the right answer of `read`."""
        match self.read(data, at):
            case ("more", _):
                return (
                    "the highest bit of every byte so far says that another one follows, and it has"
                    " not come yet. Nothing is wrong"
                )
            case ("wrong", int(where)):
                return (
                    f"byte {self.most_bytes} of a number of {self.bits} bits has room for"
                    f" {self.last_byte_limit.bit_length() - 1} of them, so it is below"
                    f" 0x{self.last_byte_limit:02x}, not 0x{data[where]:02x}"
                )
            case (_, value, int(end)):
                return (
                    f"the bytes {data[at:end].hex(' ')} are {value}, and the next thing in the"
                    f" data begins at {end}, counted from the beginning of the data"
                )
        raise AssertionError("there are three answers")

    def why_read_bytes(self, data: bytes, at: int) -> str:
        """Return an explanation of the right answer of `read_bytes`."""
        match self.read(data, at), self.read_bytes(data, at):
            case ("value", int(length), int()), ("wrong", _):
                return f"the length is {length}. -1 is null, and nothing else is below 0"
            case ("value", int(length), int(begin)), ("more", int(missing)):
                return (
                    f"the length is {length}, and {len(data) - begin} of these bytes are there, so"
                    f" {missing} more are needed"
                )
            case ("value", -1, _), _:
                return "the length -1 is null: no bytes follow"
            case ("value", int(length), int(begin)), _:
                return (
                    f"the length is {length}; the bytes follow from {begin}, up to, but not"
                    f" including, {begin + length}"
                )
        return f"in the length, {self.why_read(data, at)}"


def _high_first(zigzag: int) -> set[str]:
    """Return two wrong answers in hexadecimal: both put the highest 7 bits into the first byte."""
    groups = [byte & 0x7F for byte in unsigned_varint(zigzag)][::-1]
    marked = [group | 0x80 for group in groups[:-1]] + groups[-1:]
    return {bytes(groups).hex(), bytes(marked).hex()} if len(groups) > 1 else set()


BITS: Final = (32, 64)
