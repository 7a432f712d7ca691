"""Exercise 01-1: the reference solution."""

Answer = tuple[str, object, int] | tuple[str, int]


class Varints:
    """Writes and reads varints (`bits` is 32) and varlongs (64): zigzag, then 7 bits in a byte."""

    def __init__(self, bits: int) -> None:
        self.bits = bits  # 32 or 64
        self.most_bytes = (bits + 6) // 7

    def write(self, number: int) -> bytes:
        """Return the bytes of a signed number that fits into `bits` bits."""
        rest = number << 1 if number >= 0 else (-number << 1) - 1
        out = bytearray()
        while rest >= 0x80:
            out.append(rest & 0x7F | 0x80)
            rest >>= 7
        out.append(rest)
        return bytes(out)

    def read(self, data: bytes, at: int) -> Answer:
        """Return the number at position `at`, or say that bytes are missing or wrong."""
        raw = shift = 0
        for place in range(at, at + self.most_bytes):
            if place == len(data):
                return "more", 1
            byte = data[place]
            if byte >> min(self.bits - shift, 8):
                return "wrong", place
            raw |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        return "value", (raw >> 1) ^ -(raw & 1), place + 1

    def read_bytes(self, data: bytes, at: int) -> Answer:
        """Read a length at position `at`, then that many bytes. A length of -1 means null."""
        answer = self.read(data, at)
        match answer:
            case ("value", int(length), int(begin)):
                if length == -1:
                    return "value", None, begin
                if length < -1:
                    return "wrong", at
                end = begin + length
                if end > len(data):
                    return "more", end - len(data)
                return "value", data[begin:end], end
        return answer
