"""Compute the right answers of exercise 09-5 with the broker's own offset map and filter."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from kafka_edu.log.cleaner.batch_filter import fate_of
from kafka_edu.log.cleaner.offset_map import SLOT_BYTES, OffsetMap
from kafka_edu.log.cleaner.record_rows import RecordRows, rows_of_records
from kafka_edu.record.record import Record

Row = tuple[int, bytes | None, bool]
"""A record: (offset, key, whether the record has a value)."""
_SPARE_SLOTS: Final = 50


def _rows(records: Sequence[Row]) -> RecordRows:
    return rows_of_records(
        [Record(offset, 0, key, b"v" if has_value else None) for offset, key, has_value in records]
    )


class RightCompaction:
    """One cleaning pass over plain lists of records. It uses the broker's OffsetMap and
    `fate_of`.
    """

    def __init__(self, first_dirty: int, most: int) -> None:
        self._first_dirty = first_dirty
        self._most = most
        self._offsets = OffsetMap((most + _SPARE_SLOTS) * SLOT_BYTES)

    def note(self, records: Sequence[Row]) -> int:
        """Store the keys. Return how many records were processed before the map was full."""
        rows = _rows(records)
        keyed = np.flatnonzero(rows.has_key)
        dirty = rows.offset[keyed] >= self._first_dirty
        numbers = keyed[dirty]
        taken = self._offsets.put(rows.digests.take(dirty), rows.offset[numbers], self._most)
        return len(records) if taken == len(numbers) else int(numbers[taken])

    def keep(self, records: Sequence[Row], end: int, young: bool) -> tuple[int, ...]:
        """Return the offsets of the records that stay."""
        rows = _rows(records)
        self._offsets.latest_offset = end - 1
        stays = fate_of(rows, self._offsets, keeps_tombstones=young).stays
        return tuple(rows.offset[stays].tolist())
