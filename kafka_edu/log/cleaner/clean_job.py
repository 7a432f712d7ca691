"""One pass of a cleaner over one log: the job, and the result. Both are plain values, because the
work is done in another process.
"""

from typing import NamedTuple


class CleanJob(NamedTuple):
    """One pass over a log's segments below `first_uncleanable`. Nobody writes to them any more."""

    directory: str
    bases: tuple[int, ...]
    """The base offsets of these segments, ascending."""
    later_bases: tuple[int, ...]
    """The segments behind them, whose transaction indexes are read."""
    first_dirty: int
    """Below it, each key is there once already."""
    first_uncleanable: int
    delete_retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    last_of_producers: tuple[tuple[int, int, int], ...]
    """(producer id, epoch, last offset of data or -1) of each producer that the log still knows."""
    map_bytes: int
    load_factor: float
    max_bytes_per_second: float


class Lost(NamedTuple):
    """How many records a group of segments has lost, and why."""

    superseded: int = 0
    """A later record has the same key."""
    tombstones: int = 0
    """The key was deleted longer ago than delete.retention.ms."""
    aborted: int = 0
    """Their transaction was aborted."""
    markers: int = 0
    """Nothing is left of their transaction."""
    without_key: int = 0

    @property
    def records(self) -> int:
        return sum(self)


class CleanedGroup(NamedTuple):
    """Segments that became one. It has the first one's base offset."""

    bases: tuple[int, ...]
    bytes_before: int
    bytes_after: int
    records_before: int
    lost: Lost


class CleanResult(NamedTuple):
    """The outcome of a pass. The cleaned segments lie beside the log's own, as `.cleaned`."""

    end_offset: int
    """The first dirty offset from now on."""
    groups: tuple[CleanedGroup, ...]
    map_entries: int
    corrupt: str = ""
    """A batch that cannot be read: the log is not cleaned any more until the broker starts again.
    Nothing is to be replaced then.
    """
