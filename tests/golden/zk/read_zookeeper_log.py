"""Print the writes to a ZooKeeper in order from its transaction log, one JSON object a line (see
README.md).

    python read_zookeeper_log.py DATA_DIR > recording.jsonl

The log, unlike the tree, also shows what lived for a moment only, what was written together and by
whom, and in which order.
"""

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

FILE_HEADER_BYTES = 16
CREATE, DELETE, SET_DATA, CHECK, MULTI, CREATE2 = 1, 2, 5, 13, 14, 15


class Jute:
    """ZooKeeper's serialisation: big-endian numbers, byte strings with their length in front, -1
    for null.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def number(self, layout: str) -> int:
        (value,) = struct.unpack_from(layout, self.data, self.position)
        self.position += struct.calcsize(layout)
        return int(value)

    def buffer(self) -> bytes | None:
        length = self.number(">i")
        if length < 0:
            return None
        self.position += length
        return self.data[self.position - length : self.position]

    def text(self) -> str | None:
        data = self.buffer()
        return None if data is None else data.decode()


def writes(kind: int, record: Jute) -> Iterator[dict[str, object]]:
    """Yield the writes of one transaction."""
    if kind in (CREATE, CREATE2):
        path, data = record.text(), record.text()
        for _ in range(record.number(">i")):  # the ACL
            record.number(">i")
            record.text()
            record.text()
        yield {"op": "create", "path": path, "data": data, "ephemeral": bool(record.number(">b"))}
    elif kind == DELETE:
        yield {"op": "delete", "path": record.text()}
    elif kind == SET_DATA:
        yield {"op": "set", "path": record.text(), "data": record.text()}
    elif kind == CHECK:
        yield {"op": "check", "path": record.text()}
    elif kind == MULTI:
        for _ in range(record.number(">i")):
            inner = record.number(">i")
            yield from writes(inner, Jute(record.buffer() or b""))


def read(data_dir: Path) -> Iterator[dict[str, object]]:
    for path in sorted((data_dir / "version-2").glob("log.*"), key=lambda p: int(p.suffix[1:], 16)):
        log = Jute(path.read_bytes())
        log.position = FILE_HEADER_BYTES
        while log.position + 12 < len(log.data):
            log.number(">q")  # the checksum
            transaction = Jute(log.buffer() or b"")
            if not transaction.data:
                break  # the file is longer than its content
            log.number(">b")
            for layout in (">q", ">i", ">q", ">q"):  # session, cxid, zxid, time
                transaction.number(layout)
            yield from writes(transaction.number(">i"), transaction)


if __name__ == "__main__":
    for write in read(Path(sys.argv[1])):
        print(json.dumps(write))
