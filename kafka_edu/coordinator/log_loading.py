"""Reads a whole partition of an internal topic.

(Kafka: loadGroupsAndOffsets, loadTransactionMetadata.) A new leader learns in this way what the old
leader knew. The log is read piece by piece; between two pieces the event loop can handle requests.
The end of the log is checked when it is reached. So records that others append meanwhile, such as
transaction markers, are read too. After the last piece is applied, there is no await before the
caller continues, so nothing can happen in between.
"""

from collections.abc import Callable
from typing import Final

from kafka_edu.common.time import Time
from kafka_edu.common.transport import part_bytes
from kafka_edu.log.log import Log
from kafka_edu.record.record_batch import BatchHeader, iter_headers

PIECE_BYTES: Final = 32 * 1024
"""The maximum number of bytes processed before other tasks run.

That is about 300 committed offsets, at 12 µs of one core each. offsets.load.buffer.size and similar
keys may lower it further.
"""

ApplyBatch = Callable[[BatchHeader, memoryview], None]
"""Takes one whole batch: its header, and its bytes, which are valid during the call."""


async def load_log(
    log: Log, apply: ApplyBatch, time: Time, buffer_bytes: int, wanted: Callable[[], bool]
) -> bool:
    """Give every batch of `log`, in order, to `apply`. O(log).

    Returns True at the end of the log, and False if `wanted` became False before that. Raises
    KAFKA_STORAGE_ERROR, and every error of `apply`.
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
        ):  # the rest of the log holds no batch: compaction may have emptied its end
            return True
        await time.sleep(0)
    return False
