"""Exercise 01-1: write the class Varints. README.md describes the task. Check your file with
`kafka-edu lab check 01-1`. `kafka-edu lab hint 01-1` gives a hint.
"""

Answer = tuple[str, object, int] | tuple[str, int]


class Varints:
    """Numbers in zigzag code with 7 bits per byte (varint: 32 bits, varlong: 64 bits)."""

    def __init__(self, bits: int) -> None:
        self.bits = bits  # 32 or 64

    def write(self, number: int) -> bytes:
        """Return the bytes of a signed number. The number fits into `bits` bits."""
        raise NotImplementedError("Varints.write is not written yet: it returns bytes")

    def read(self, data: bytes, at: int) -> Answer:
        """Read the number that begins at `at`. `data` may end too early, or contain wrong bytes."""
        raise NotImplementedError(
            "Varints.read is not written yet: it returns ('value', number, next), ('more', 1), or"
            " ('wrong', where)"
        )

    def read_bytes(self, data: bytes, at: int) -> Answer:
        """Read a length at `at`, then that number of bytes. The length -1 means null."""
        raise NotImplementedError(
            "Varints.read_bytes is not written yet: it returns ('value', bytes, next), ('more',"
            " how many), or ('wrong', where)"
        )
