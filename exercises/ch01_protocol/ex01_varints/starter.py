"""Exercise 01-1: write Varints. README.md says what is asked; `kafka-edu lab check 01-1` tries it,
`kafka-edu lab hint 01-1` helps.
"""

Answer = tuple[str, object, int] | tuple[str, int]


class Varints:
    """Numbers of 7 bits a byte, with zigzag (varint: 32 bits, varlong: 64 bits)."""

    def __init__(self, bits: int) -> None:
        self.bits = bits  # 32 or 64

    def write(self, number: int) -> bytes:
        """Return the bytes of a number, which fits into `bits` bits with its sign."""
        raise NotImplementedError("Varints.write is not written yet: it returns bytes")

    def read(self, data: bytes, at: int) -> Answer:
        """Read the number that begins at `at`. `data` may end too early, and it may be wrong."""
        raise NotImplementedError(
            "Varints.read is not written yet: it returns ('value', number, next), ('more', 1), or"
            " ('wrong', where)"
        )

    def read_bytes(self, data: bytes, at: int) -> Answer:
        """Read a length at `at`, and as many bytes behind it. The length -1 means null."""
        raise NotImplementedError(
            "Varints.read_bytes is not written yet: it returns ('value', bytes, next), ('more',"
            " how many), or ('wrong', where)"
        )
