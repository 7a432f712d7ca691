"""Read everything that a broker serves of a damaged log, and compare it with what was written.

The reader does what a consumer does: it checks each batch's checksum, goes on after each batch, and
with read_committed leaves out the transactions that the broker names as aborted. At a place that it
cannot read, it looks for the next offset that can be read.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.messages.fetch import FetchablePartitionResponse
from kafka_edu.protocol.messages.list_offsets import ListOffsetsResponse
from kafka_edu.record.control_record import ControlRecordType, read_end_transaction_marker
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import (
    MAGIC_V2,
    CorruptRecordError,
    check_crc,
    iter_headers,
    read_records,
)
from tests.conformance.cases.basics import epoch_end, fetch, offsets, produce
from tests.conformance.replay import Asker
from tests.unit.log.corruption.written import LOG_START, Written

SERVED: Final = "served"
OFFLINE: Final = "log dir offline"
NO_START: Final = "does not start"
_READ_COMMITTED: Final = 1
_SETTLED: Final = (Errors.NONE, Errors.KAFKA_STORAGE_ERROR)
"""The broker leads the partition, or cannot because its log dir is offline."""


class Outcome(NamedTuple):
    """The answers to clients about one case's log. Each list has offsets, ascending."""

    state: str
    start: int = -1
    end: int = -1
    lost: Sequence[int] = ()
    """Records that no reader gets, from the written log start on."""
    refused: Sequence[int] = ()
    """The offsets at which a reader stops: the broker returns an error, or bytes that are no batch
    with a right checksum.
    """
    wrong: Sequence[int] = ()
    """Records that differ from those written at their offset, or were never written."""
    revived: Sequence[int] = ()
    """Records that DeleteRecords had deleted."""
    aborted: Sequence[int] = ()
    """Records of aborted transactions that read_committed readers get."""
    wrong_times: Sequence[int] = ()
    """Records that a look-up by their time does not find, though they are served."""
    knows_producer: bool = False
    """Whether the retry of the idempotent producer's last batch is a duplicate."""
    knows_epochs: bool = False
    """Whether it knows where the first leader's records end."""


class _Reader:
    def __init__(self, asker: Asker, topic: str, isolation_level: int) -> None:
        self._asker, self._topic, self._isolation_level = asker, topic, isolation_level
        self.found: dict[int, Record] = {}
        self.refused: list[int] = []

    def read(self, start: int, end: int) -> None:
        offset = start
        while offset < end:
            following = self._read_some(offset)
            if following is None:
                self.refused.append(offset)
                following = offset + 1
            offset = following

    def _read_some(self, offset: int) -> int | None:
        """Read one batch or several. Return the next offset, or None if nothing good was read."""
        answer = self._asker.ask(
            "read",
            fetch(offset, topic=self._topic, isolation_level=self._isolation_level, max_wait_ms=0),
            10,
        )
        if answer is None:
            return None
        part: FetchablePartitionResponse = answer.responses[0].partition_responses[0]
        if part.error_code or part.record_set is None:
            return None
        return self._take(bytes(part_bytes(part.record_set)), part, offset)

    def _take(self, data: bytes, part: FetchablePartitionResponse, offset: int) -> int | None:
        begins = sorted(
            (aborted.first_offset, aborted.producer_id)
            for aborted in part.aborted_transactions or ()
        )
        aborting: set[int] = set()
        following = None
        try:
            for at, header in iter_headers(data):
                batch = data[at : at + header.size_in_bytes]
                if header.magic != MAGIC_V2:
                    return following
                check_crc(batch, header)
                while begins and begins[0][0] <= header.last_offset:
                    aborting.add(begins.pop(0)[1])
                if header.is_control:
                    marker = read_end_transaction_marker(batch)
                    if marker is not None and marker.type is ControlRecordType.ABORT:
                        aborting.discard(header.producer_id)
                elif not (header.is_transactional and header.producer_id in aborting):
                    for record in read_records(batch):
                        if record.offset >= offset:
                            self.found[record.offset] = record
                if header.next_offset > offset:
                    following = header.next_offset
        except CorruptRecordError:
            pass
        return following


def judge(asker: Asker, topic: str, written: Written) -> Outcome:
    """Wait until the partition has a leader or is offline. Then return what clients get from it."""
    asker.ask("leads", offsets(-1, topic=topic), 2, until=lambda a: _error(a) in _SETTLED)
    if _error(asker.ask("leads", offsets(-1, topic=topic), 2)):
        return Outcome(OFFLINE)
    start, end = (
        asker.ask("ends", offsets(which, topic=topic), 2).topics[0].partitions[0].offset
        for which in (-2, -1)
    )
    plain, committed = _Reader(asker, topic, 0), _Reader(asker, topic, _READ_COMMITTED)
    for reader in (plain, committed):
        reader.read(start, min(end, written.end))
        if end > written.end:  # a flipped bit of an offset: what is there was never written
            reader.read(end - 1, end)
    should = {offset for offset in written.records if offset >= LOG_START}
    right = {o for o, record in plain.found.items() if written.records.get(o) == record}
    return Outcome(
        SERVED,
        start,
        end,
        lost=sorted(should - right),
        refused=plain.refused,
        wrong=sorted(plain.found.keys() - right),
        revived=sorted(right - should),
        aborted=sorted(written.aborted & committed.found.keys()),
        wrong_times=[
            offset
            for offset in sorted(right)
            if _by_time(asker, topic, written.records[offset].timestamp) != offset
        ],
        knows_epochs=_first_epoch_end(asker, topic) == written.second_epoch,
        knows_producer=_retry(asker, topic, written.last_idempotent)
        == written.last_idempotent_offset,
    )


def _error(answer: ListOffsetsResponse) -> int:
    return int(answer.topics[0].partitions[0].error_code)


def _by_time(asker: Asker, topic: str, timestamp: int) -> int:
    answer = asker.ask("time", offsets(timestamp, topic=topic), 2)
    return int(answer.topics[0].partitions[0].offset)


def _first_epoch_end(asker: Asker, topic: str) -> int:
    answer = asker.ask("epoch", epoch_end(0, topic=topic), 2)
    return int(answer.topics[0].partitions[0].end_offset)


def _retry(asker: Asker, topic: str, batch: bytes) -> int:
    answer = asker.ask("retry", produce(batch, topic=topic), 7)
    part = answer.responses[0].partition_responses[0]
    return int(part.base_offset) if not part.error_code else -int(part.error_code)
