"""Exercise 09-5 in a live broker: a learner's Compaction decides which records the cleaner keeps.

The shipped cleaner runs each pass in a separate process. But a pass over a log of the labs runs in
a thread of the broker, because only the broker can call the learner's process. The shipped cleaner
reads and writes the segments, and follows the transactions. A wrong answer is used: keys are lost,
or the log stays large. It is an error in the learner's code if an answer names records that were
not in the question. The shipped code then does the rest of the pass.
"""

import asyncio
import importlib
import posixpath
from collections.abc import Awaitable, Callable
from typing import Final

import numpy as np

from kafka_edu.common.arrays import Bools
from kafka_edu.common.files import FileSystem, OsFileSystem
from kafka_edu.learner.lab_partitions import LAB_TOPICS
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.log.cleaner.batch_filter import Fate
from kafka_edu.log.cleaner.clean_job import CleanJob, CleanResult
from kafka_edu.log.cleaner.cleaner import Cleaner, no_throttle
from kafka_edu.log.cleaner.offset_map import DIGEST_BYTES, LONGEST_EXACT, OffsetMap
from kafka_edu.log.cleaner.record_rows import RecordRows

AT_ONCE: Final = 500
"""The maximum number of records in one question, because the size of an answer is limited."""
PROCESS: Final = "kafka_edu.server.cleaner_process"
Row = tuple[int, bytes | None, bool]
RunClean = Callable[[CleanJob], Awaitable[CleanResult]]


def plain_rows(rows: RecordRows) -> list[Row]:
    """Return (offset, key, whether it has a value) of each record.

    A key of up to 15 bytes is returned as it is. A longer key is replaced by the digest that the
    cleaner uses for it.
    """
    halves = np.stack([rows.digests.high, rows.digests.low], axis=1)
    digests = np.ascontiguousarray(halves).tobytes()
    found: list[Row] = []
    at = 0
    for offset, has_key, has_value in zip(
        rows.offset.tolist(), rows.has_key.tolist(), rows.has_value.tolist(), strict=True
    ):
        key = None
        if has_key:
            key = digests[at : at + DIGEST_BYTES]
            at += DIGEST_BYTES
            if key[LONGEST_EXACT] <= LONGEST_EXACT + 1:
                key = key[: key[LONGEST_EXACT] - 1]
        found.append((offset, key, has_value))
    return found


class LearnerCleaner(Cleaner):
    """One cleaning pass. An object of the learner's class records keys and decides which records
    stay.
    """

    def __init__(self, code: LearnerCode, job: CleanJob, file_system: FileSystem) -> None:
        super().__init__(job, file_system, no_throttle)
        self._code = code
        self._part: LearnerPart | None = None

    def _put(self, rows: RecordRows, offsets: OffsetMap, most: int) -> int | None:
        ours = super()._put(rows, offsets, most)
        part = self._part = self._part or LearnerPart(self._code, self._job.first_dirty, most)
        if part.is_out:
            return ours
        records = plain_rows(rows)
        try:
            for begin in range(0, len(records), AT_ONCE):
                some = records[begin : begin + AT_ONCE]
                taken = self._note(part, some)
                if taken < len(some):
                    cut = begin + taken
                    return next(n for n, one in enumerate(rows.batches) if cut < one.stop)
        except LearnerError as error:
            part.fail(error)
            return ours
        return None

    def _note(self, part: LearnerPart, records: list[Row]) -> int:
        match part.ask("note", records):
            case bool() as answer:
                pass
            case int(taken) if 0 <= taken <= len(records):
                return taken
            case answer:
                pass
        raise self._code.blame(
            f"note of {len(records)} records answered {answer!r}; expected how many were taken"
        )

    def _fate(self, rows: RecordRows, offsets: OffsetMap, keeps: bool) -> Fate:
        ours = super()._fate(rows, offsets, keeps)
        part = self._part
        if part is not None and not part.is_out:
            records = plain_rows(rows)
            try:
                kept: list[int] = []
                for begin in range(0, len(records), AT_ONCE):
                    some = records[begin : begin + AT_ONCE]
                    kept += self._keep(part, some, offsets.latest_offset + 1, keeps)
            except LearnerError as error:
                part.fail(error)
            else:
                return _fate_of(rows, ours, np.isin(rows.offset, np.array(kept, np.int64)))
        return ours

    def _keep(
        self, part: LearnerPart, records: list[Row], end: int, young: bool
    ) -> tuple[int, ...]:
        known = {offset for offset, _, _ in records}
        match part.ask("keep", records, end, young):
            case tuple(kept) if all(type(one) is int and one in known for one in kept):
                return kept
            case answer:
                raise self._code.blame(
                    f"keep of {len(records)} records, end {end}, answered {str(answer)[:80]};"
                    " expected offsets of theirs"
                )


def _fate_of(rows: RecordRows, ours: Fate, stays: Bools) -> Fate:
    """Return the fate of each record after `stays` was decided.

    The reason for dropping a record is a guess if the shipped cleaner would keep that record.
    """
    gone = ~stays
    superseded = gone & rows.has_key & (ours.superseded | rows.has_value)
    return Fate(stays, superseded, gone & rows.has_key & ~superseded, gone & ~rows.has_key)


def adapt(code: LearnerCode) -> RunClean:
    """Return the function that runs a pass in a broker."""
    ours: RunClean = importlib.import_module(PROCESS).run_in_a_process

    async def run(job: CleanJob) -> CleanResult:
        if code.retired or not posixpath.basename(job.directory).startswith(LAB_TOPICS):
            return await ours(job)
        return await asyncio.to_thread(lambda: LearnerCleaner(code, job, OsFileSystem()).clean())

    return run
