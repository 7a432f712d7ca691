"""Exercise 01-1, wrong: the highest 7 bits come first."""

Answer = tuple[str, object, int] | tuple[str, int]


class Varints:
    """Numbers of 7 bits a byte, with zigzag (varint: 32 bits, varlong: 64 bits)."""

    def __init__(self, bits: int) -> None:
        self.bits = bits  # 32 or 64
        self.most_bytes = (bits + 6) // 7

    def write(self, number: int) -> bytes:
        """Return the bytes of a number, which fits into `bits` bits with its sign."""
        rest = number << 1 if number >= 0 else (-number << 1) - 1
        out = bytearray()
        while rest >= 0x80:
            out.append(rest & 0x7F | 0x80)
            rest >>= 7
        out.append(rest)
        groups = [byte & 0x7F for byte in reversed(out)]
        return bytes([group | 0x80 for group in groups[:-1]] + groups[-1:])

    def read(self, data: bytes, at: int) -> Answer:
        """Read the number that begins at `at`. `data` may end too early, and it may be wrong."""
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
        """Read a length at `at`, and as many bytes behind it. The length -1 means null."""
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
