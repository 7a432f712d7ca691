"""Reads a whole partition of an internal topic from its log.

(Kafka: loadGroupsAndOffsets, loadTransactionMetadata.) A new leader of the partition reads the log
to get the state that the old leader had. The log is read piece by piece; between two pieces the
event loop can handle requests. The end of the log is checked again after each piece. So records
that are appended meanwhile, such as transaction markers, are read too. After the last piece there
is no await before the caller continues, so no record can be appended in between.
"""

from collections.abc import Callable
from typing import Final

from kafka_edu.common.time import Time
from kafka_edu.common.transport import part_bytes
from kafka_edu.log.log import Log
from kafka_edu.record.record_batch import BatchHeader, iter_headers

PIECE_BYTES: Final = 32 * 1024
"""The maximum number of bytes processed before other tasks run.

32 KiB are about 300 committed offsets, at 12 µs of one core each. offsets.load.buffer.size and
transaction.state.log.load.buffer.size may lower the number.
"""

ApplyBatch = Callable[[BatchHeader, memoryview], None]
"""The function that processes one batch: (header, bytes of the whole batch) → None.

The bytes are valid only during the call.
"""


async def load_log(
    log: Log, apply: ApplyBatch, time: Time, buffer_bytes: int, wanted: Callable[[], bool]
) -> bool:
    """Call `apply` with every batch of `log`, in order. O(log).

    Returns True at the end of the log, and False if `wanted` returned False before that. Raises
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
        ):  # the rest of the log holds no batch: compaction may have removed the last batches
            return True
        await time.sleep(0)
    return False
