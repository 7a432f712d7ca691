"""Read recordings of events, and return the events as Arrow columns (docs/events.md describes the
events).

Each event gives one row. It has the columns of the event's envelope, and the column `fields` with
all of the event's own fields. Some fields that many events have are also separate columns: topic,
partition, group, and the API and total time of a request.
"""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from kafka_edu.spark.event_row import row_of
from kafka_edu.spark.file_options import PAGE, matching, nearest
from kafka_edu.spark.notices import give_notice
from kafka_edu.spark.source_errors import DamagedRecordingError, SourceOptionError
from kafka_edu.trace.event import EVENT_TYPES
from kafka_edu.trace.reader import LeftOut, read_recording
from kafka_edu.trace.recording_file import open_events, readable_part
from kafka_edu.trace.wire_format import TraceFormatError

SUFFIXES: Final = (".jsonl", ".jsonl.gz", ".json", ".json.gz")
_ROWS_AT_ONCE: Final = 4096
_ENVELOPE: Final = (
    pa.field("file", pa.string()),
    pa.field("time", pa.timestamp("us", tz="UTC")),
    pa.field("monoUs", pa.int64()),
    pa.field("source", pa.string()),
    pa.field("broker", pa.int32()),
    pa.field("number", pa.int64()),
    pa.field("cause", pa.int64()),
    pa.field("event", pa.string()),
    pa.field("kind", pa.string()),
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("group", pa.string()),
    pa.field("api", pa.string()),
    pa.field("totalUs", pa.int64()),
)
EVENT_ROWS: Final = pa.schema([*_ENVELOPE, pa.field("fields", pa.string())])
EVENT_ROWS_WITH_MAP: Final = pa.schema(
    [*_ENVELOPE, pa.field("fields", pa.map_(pa.string(), pa.string()))]
)


def recording_files(path: str) -> list[str]:
    """Return the recordings in a file, folder or pattern. Raises SourceOptionError if there are
    none.
    """
    found: list[str] = []
    for place in matching(path):
        files = sorted(place.iterdir()) if place.is_dir() else [place]
        found += [str(file) for file in files if not place.is_dir() or file.name.endswith(SUFFIXES)]
    if not found:
        raise SourceOptionError(
            f"{path} has no recording: their names end in {' or '.join(SUFFIXES)}"
        )
    return found


def event_names(text: str) -> tuple[str, ...]:
    """Return the event names in the text of the option `events`. Raises SourceOptionError for an
    unknown name.
    """
    import kafka_edu.trace.events.all  # noqa: F401 - fills the registry of event types

    names = tuple(filter(None, (part.strip() for part in text.split(","))))
    for name in names:
        if name not in EVENT_TYPES:
            near = nearest(name, EVENT_TYPES)
            hint = f"did you mean {near}?" if near else "docs/events.md names them all"
            raise SourceOptionError(f"option events: there is no event {name}: {hint}")
    return names


def event_rows(
    path: str, names: Sequence[str], *, as_map: bool, fail_on_damage: bool
) -> Iterator[pa.RecordBatch]:
    """Yield Arrow batches with a row for each event of a recording, in the file's order.

    If `names` is not empty, only events with these names are kept. Events that this program does
    not know are left out, and the user gets a notice. Raises DamagedRecordingError if the file is
    not a recording. With `fail_on_damage` it also raises this error if the recording is damaged or
    cut off. O(bytes).
    """
    left_out = LeftOut()
    schema = EVENT_ROWS_WITH_MAP if as_map else EVENT_ROWS
    wanted = frozenset(names)
    rows: list[dict[str, object]] = []
    try:
        with open_events(Path(path)) as stream:
            for envelope in read_recording(readable_part(stream, left_out), left_out):
                if wanted and envelope.name not in wanted:
                    continue
                rows.append(row_of(envelope, Path(path).name, as_map=as_map))
                if len(rows) == _ROWS_AT_ONCE:
                    yield pa.RecordBatch.from_pylist(rows, schema=schema)
                    rows = []
    except (TraceFormatError, gzip.BadGzipFile, zlib.error) as error:
        raise DamagedRecordingError(
            f"{path} is not a readable recording: {error}: give a file that a recording"
            f" command wrote; {PAGE} names them"
        ) from None
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema=schema)
    damaged = left_out.damaged or left_out.end_missing
    if damaged and fail_on_damage:
        raise DamagedRecordingError(
            f"{path}: {'; '.join(left_out.sentences())}: give failOnDamage=false to read the rest"
        )
    for sentence in left_out.sentences():
        give_notice(f"{path}: {sentence}")
