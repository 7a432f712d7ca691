"""Exercise 01-2: the reference solution."""

import struct
from collections.abc import Sequence

Field = tuple[str, int, int]  # its name, where it begins, and where it ends

CRC_TABLE: list[int] = []
for _number in range(256):
    for _ in range(8):
        _number = _number >> 1 ^ (0x82F63B78 if _number & 1 else 0)
    CRC_TABLE.append(_number)

HEADER = (
    ("base_offset", "q"),
    ("batch_length", "i"),
    ("partition_leader_epoch", "i"),
    ("magic", "b"),
    ("crc", "I"),
    ("attributes", "h"),
    ("last_offset_delta", "i"),
    ("base_timestamp", "q"),
    ("max_timestamp", "q"),
    ("producer_id", "q"),
    ("producer_epoch", "h"),
    ("base_sequence", "i"),
    ("records_count", "i"),
)
HEADER_BYTES = 61


def crc32c(data: bytes) -> int:
    """Return the CRC-32C checksum of `data`. This works; you need not change it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def varint(number: int) -> bytes:
    """Return a number as a varint: zigzag, then 7 bits in a byte (exercise 01-1). This works."""
    rest = 2 * number if number >= 0 else -2 * number - 1
    out = bytearray()
    while rest >= 0x80:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def with_length(data: bytes | None) -> bytes:
    """Return the length of the data as a varint, then the data. For null, the length is -1."""
    return varint(-1) if data is None else varint(len(data)) + data


class BatchBuilder:
    """Collects records, and builds one record batch from them."""

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
        self.records: list[bytes] = []
        self.size = HEADER_BYTES
        self.base_timestamp = -1
        self.max_timestamp = -1

    def append(
        self,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]],
    ) -> int | None:
        """Add a record, and return how many bytes it takes. If the batch has records already and
        would become longer than `max_bytes`, add nothing, and return None.
        """
        base_timestamp = self.base_timestamp if self.records else timestamp
        body = b"\x00" + varint(timestamp - base_timestamp) + varint(len(self.records))
        body += with_length(key) + with_length(value) + varint(len(headers))
        for name, content in headers:
            body += with_length(name.encode()) + with_length(content)
        record = varint(len(body)) + body
        if self.records and self.size + len(record) > self.max_bytes:
            return None
        self.base_timestamp = base_timestamp
        self.max_timestamp = max(self.max_timestamp, timestamp) if self.records else timestamp
        self.records.append(record)
        self.size += len(record)
        return len(record)

    def close(self) -> tuple[bytes, list[Field]]:
        """Return the bytes of the batch, and (name, begin, end) of each field in them."""
        values = {
            "base_offset": 0,
            "batch_length": self.size - 12,
            "partition_leader_epoch": -1,
            "magic": 2,
            "crc": 0,
            "attributes": 0x10 if self.transactional else 0,
            "last_offset_delta": len(self.records) - 1,
            "base_timestamp": self.base_timestamp,
            "max_timestamp": self.max_timestamp,
            "producer_id": self.producer_id,
            "producer_epoch": self.producer_epoch,
            "base_sequence": self.base_sequence,
            "records_count": len(self.records),
        }
        batch = bytearray()
        fields: list[Field] = []
        for name, code in HEADER:
            begin = len(batch)
            batch += struct.pack(">" + code, values[name])
            fields.append((name, begin, len(batch)))
        for number, record in enumerate(self.records):
            begin = len(batch)
            batch += record
            fields.append((f"record {number}", begin, len(batch)))
        batch[17:21] = struct.pack(">I", crc32c(bytes(batch[21:])))
        return bytes(batch), fields
