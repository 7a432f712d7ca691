"""Reads a whole partition of an internal topic, so that its new leader knows what the old one knew
(Kafka: loadGroupsAndOffsets, loadTransactionMetadata).

The log is read a piece at a time; between two pieces the loop is free for requests. It is read to
its end as that is when it is reached: what others append meanwhile, such as markers of
transactions, is read as well. When the last piece has been applied no await comes before the caller
goes on, so nothing can slip in between.
"""

from collections.abc import Callable
from typing import Final

from kafka_edu.common.time import Time
from kafka_edu.common.transport import part_bytes
from kafka_edu.log.log import Log
from kafka_edu.record.record_batch import BatchHeader, iter_headers

PIECE_BYTES: Final = 32 * 1024
"""Most bytes worked on before other tasks run: some 300 committed offsets, at 12 µs of one core
each. offsets.load.buffer.size and its like bound it further.
"""

ApplyBatch = Callable[[BatchHeader, memoryview], None]
"""Takes one whole batch: its header and its bytes, valid during the call."""


async def load_log(
    log: Log, apply: ApplyBatch, time: Time, buffer_bytes: int, wanted: Callable[[], bool]
) -> bool:
    """Give every batch of `log`, in order, to `apply`. Returns whether it came to the end: False
    when `wanted` ceased to hold meanwhile.

    Raises KAFKA_STORAGE_ERROR, and what `apply` raises. O(log).
    """
    offset = log.log_start_offset
    while wanted():
        if offset >= log.log_end_offset:
            return True
        data = log.read(offset, min(buffer_bytes, PIECE_BYTES), min_one_message=True)
        with log.storage():
            records = memoryview(part_bytes(data.records))
        before = offset
        for position, header in iter_headers(records):
            if header.last_offset >= offset:
                apply(header, records[position : position + header.size_in_bytes])
                offset = header.next_offset
        if (
            offset == before
        ):  # what is left of the log holds no batch: compaction may have emptied its end
            return True
        await time.sleep(0)
    return False
