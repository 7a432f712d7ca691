"""The job and the result of one cleaning pass over one log. Both are plain values. Another process
does the work (`worker`): the broker sends it the job as a line of JSON, and gets the result as a
line of JSON.

The broker imports only this module. The worker's modules need numpy, which would cost each broker
0.06 s at its start and 16 MB of memory.
"""

import json
from typing import Final, NamedTuple

EXIT_DISK: Final = 3
"""The exit code of the worker after an OSError. Standard output then has the errno and the text."""


class CleanJob(NamedTuple):
    """One cleaning pass over the segments below `first_uncleanable`, which are not written to any
    more.
    """

    directory: str
    bases: tuple[int, ...]
    """The base offsets of the segments to clean, ascending."""
    later_bases: tuple[int, ...]
    """The base offsets of later segments. Only their transaction indexes are read."""
    first_dirty: int
    """The first offset of the dirty part. Below this offset each key occurs only once already."""
    first_uncleanable: int
    delete_retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    last_of_producers: tuple[tuple[int, int, int], ...]
    """(producer id, epoch, offset of the last data record or -1) of each producer in the log's
    producer state.
    """
    map_bytes: int
    load_factor: float
    max_bytes_per_second: float


class Lost(NamedTuple):
    """How many records a group of segments has lost, one count for each reason."""

    superseded: int = 0
    """Records dropped because a later record has the same key."""
    tombstones: int = 0
    """Tombstones dropped because they are older than delete.retention.ms."""
    aborted: int = 0
    """Records dropped because their transaction was aborted."""
    markers: int = 0
    """Transaction markers dropped because no records of their transaction are left."""
    without_key: int = 0

    @property
    def records(self) -> int:
        return sum(self)


class CleanedGroup(NamedTuple):
    """Segments that were merged into one new segment, which has the base offset of the first old
    one.
    """

    bases: tuple[int, ...]
    bytes_before: int
    bytes_after: int
    records_before: int
    lost: Lost


class CleanResult(NamedTuple):
    """The result of a pass. The cleaned segments are in the log's folder, as files with the suffix
    `.cleaned`.
    """

    end_offset: int
    """The first dirty offset after this pass."""
    groups: tuple[CleanedGroup, ...]
    map_entries: int
    corrupt: str = ""
    """The fault of the batch that could not be read; empty if all batches were read. With such a
    batch no segment is replaced, and the log is not cleaned again until the broker restarts.
    """


def job_line(job: CleanJob) -> bytes:
    """Return the job as a line of JSON."""
    return json.dumps(job).encode() + b"\n"


def read_job(line: bytes) -> CleanJob:
    """Return the job in a line of JSON. Raises ValueError or TypeError."""
    row = json.loads(line)
    job = CleanJob(*row)
    return job._replace(
        bases=tuple(job.bases),
        later_bases=tuple(job.later_bases),
        last_of_producers=tuple((one[0], one[1], one[2]) for one in job.last_of_producers),
    )


def read_result(line: bytes) -> CleanResult:
    """Return the result in a line of JSON. Raises ValueError or TypeError."""
    end, groups, entries, corrupt = json.loads(line)
    return CleanResult(
        end,
        tuple(
            CleanedGroup(tuple(bases), before, after, records, Lost(*lost))
            for bases, before, after, records, lost in groups
        ),
        entries,
        corrupt,
    )
