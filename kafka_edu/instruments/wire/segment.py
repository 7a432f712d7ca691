"""Decode the batches of a segment file into trees, in the same way as the batches of a request.

The file is read while a broker may append to it. A batch that is not whole yet is left out.
"""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kafka_edu.common.files import OsFileSystem
from kafka_edu.instruments.wire.batches import read_batches
from kafka_edu.instruments.wire.cursor import Cursor, Stop
from kafka_edu.instruments.wire.tree import Decoded
from kafka_edu.record.file_records import iter_file_headers
from kafka_edu.record.record_batch import CorruptRecordError


class BatchAt(NamedTuple):
    """A batch of a segment, and where it is in the file."""

    position: int
    size: int
    base_offset: int
    last_offset: int


def batches_of(path: Path) -> list[BatchAt]:
    """Return all whole batches of a segment file up to the first damaged one. O(batches).

    Reads the headers only. Raises OSError.
    """
    file = OsFileSystem().open(str(path), create=False)
    found: list[BatchAt] = []
    try:
        for position, header in iter_file_headers(file, 0, file.size()):
            found.append(
                BatchAt(position, header.size_in_bytes, header.base_offset, header.last_offset)
            )
    except CorruptRecordError:
        pass  # the damage begins here; dump-log --explain shows it
    finally:
        file.close()
    return found


def decode_batch(path: Path, batch: BatchAt) -> Decoded:
    """Return the tree of one batch. Its positions count from the beginning of the batch.

    Raises OSError.
    """
    with path.open("rb") as file:
        file.seek(batch.position)
        data = file.read(batch.size)
    cursor = Cursor(data)
    with suppress(Stop):
        read_batches(cursor, may_be_cut=False)
    return Decoded(
        data=data,
        root=cursor.root,
        api="",
        version=-1,
        is_response=False,
        correlation_id=None,
        client_id=None,
        problems=tuple(cursor.problems),
    )
