"""Find segments that have each other's names, and rename them.

Segments get wrong names if somebody copies files by hand and mixes them up.

Kafka does not notice if two segments have each other's names: readers skip the records of one
segment, and after a crash Kafka cuts off records or does not start. Here the broker reads the first
header of each segment at each start. A segment has the right name if its first batch lies between
the base offset in the name and the next segment's base offset. If each segment with a wrong name
has the name that belongs to another such segment, all of them are renamed.

    18.log holds 35…, 35.log holds 18…      → 35.log.renamed, 18.log.renamed → 35.log, 18.log

If the broker is killed between two renames, it finishes the renames at its next start.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_edu.common.files import FileSystem
from kafka_edu.log.log_file_names import LOG_SUFFIX, offset_of, segment_file
from kafka_edu.record.file_records import iter_file_headers
from kafka_edu.record.record_batch import CorruptRecordError

RENAMED_SUFFIX: Final = ".renamed"


class Renamed(NamedTuple):
    """A file that had another segment's name, and the base offset of the segment to which it
    belongs.
    """

    path: str
    base_offset: int


def restore_names(
    file_system: FileSystem, directory: str, bases: Sequence[int]
) -> Sequence[Renamed]:
    """Rename the segments that have each other's names, and return them. `bases` are the base
    offsets of all segments, ascending. O(segments).
    """
    wrong: dict[int, int] = {}
    for number, base in enumerate(bases):
        first = _first_offset(file_system, segment_file(directory, base, LOG_SUFFIX))
        after = bases[number + 1] if number + 1 < len(bases) else None
        if first is not None and (first < base or (after is not None and first >= after)):
            wrong[base] = bases[max(bisect_right(bases, first) - 1, 0)]
    if not wrong or set(wrong.values()) != set(wrong):
        return ()
    found = [Renamed(segment_file(directory, base, LOG_SUFFIX), wrong[base]) for base in wrong]
    for path, own in found:
        file_system.rename(path, segment_file(directory, own, LOG_SUFFIX) + RENAMED_SUFFIX)
    finish_renames(file_system, directory)
    return found


def finish_renames(file_system: FileSystem, directory: str) -> None:
    """Give the segments with the suffix `.renamed` their final names, even after a kill."""
    names = file_system.list(directory)
    waiting = [name for name in names if name.endswith(LOG_SUFFIX + RENAMED_SUFFIX)]
    bases = [
        base
        for name in names
        if name.endswith(LOG_SUFFIX) and (base := offset_of(name)) is not None
    ]
    for _ in waiting:  # after a kill, some have others' names: each turn frees one name
        for base in bases:
            path = segment_file(directory, base, LOG_SUFFIX)
            first = _first_offset(file_system, path) if file_system.exists(path) else None
            own = segment_file(directory, first, LOG_SUFFIX) if first is not None else path
            if not file_system.exists(own) and not file_system.exists(own + RENAMED_SUFFIX):
                file_system.rename(path, own)
                bases.append(first or 0)
    for name in waiting:
        final = f"{directory}/{name.removesuffix(RENAMED_SUFFIX)}"
        if not file_system.exists(final):
            file_system.rename(final + RENAMED_SUFFIX, final)


def _first_offset(file_system: FileSystem, path: str) -> int | None:
    """Return the offset of a segment's first batch; None if the segment has no whole batch."""
    file = file_system.open(path)
    try:
        for _, header in iter_file_headers(file, 0, file.size()):
            return header.base_offset
    except CorruptRecordError:
        pass
    finally:
        file.close()
    return None
