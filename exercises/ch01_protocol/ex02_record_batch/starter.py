"""Exercise 01-2: write the class BatchBuilder. README.md describes the task. Check your file with
`kafka-edu lab check 01-2`. `kafka-edu lab hint 01-2` gives a hint.
"""

from collections.abc import Sequence

Field = tuple[str, int, int]  # its name, where it begins, and where it ends

CRC_TABLE: list[int] = []
for _number in range(256):
    for _ in range(8):
        _number = _number >> 1 ^ (0x82F63B78 if _number & 1 else 0)
    CRC_TABLE.append(_number)


def crc32c(data: bytes) -> int:
    """Return the checksum (CRC-32C) of the bytes. This function works; do not change it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def varint(number: int) -> bytes:
    """Return a number in zigzag code, 7 bits per byte (exercise 01-1). This function works."""
    rest = 2 * number if number >= 0 else -2 * number - 1
    out = bytearray()
    while rest >= 0x80:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


class BatchBuilder:
    """Collects records, and returns them as one batch."""

    def __init__(
        self,
        max_bytes: int,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        transactional: bool,
    ) -> None:
        self.max_bytes = max_bytes
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.transactional = transactional

    def append(
        self,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]],
    ) -> int | None:
        """Add a record, and return how many bytes it takes in the batch. If the batch would become
        too long, do not add the record, and return None.
        """
        raise NotImplementedError(
            "BatchBuilder.append is not written yet: it returns a number of bytes, or None"
        )

    def close(self) -> tuple[bytes, list[Field]]:
        """Return the bytes of the batch, and the place of each of its fields."""
        raise NotImplementedError(
            "BatchBuilder.close is not written yet: it returns (bytes, list of fields)"
        )
