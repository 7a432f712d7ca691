"""Read the files that one batch of the pipeline wrote, without Spark, so that a view can show them
at once.

Examples of a batch's folder are `lines/batch=7/kind=bad` and `windows/batch=7`. A Parquet file has
its number of rows at its end, so lines can be counted without reading them.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_edu.spark.pipeline_view import WindowRow

_COLUMNS = ("begin", "lines", "errors", "p99_us")


def kinds_of_batch(folder: Path) -> dict[str, int]:
    """Return how many lines of each kind are in the folder of a batch of lines."""
    counts: dict[str, int] = {}
    for file in folder.glob("kind=*/*.parquet"):
        kind = file.parent.name.removeprefix("kind=")
        counts[kind] = counts.get(kind, 0) + pq.read_metadata(file).num_rows
    return counts


def windows_of_batch(folder: Path) -> list[WindowRow]:
    """Return the windows that are stored in the folder of a batch of windows."""
    rows = []
    for file in folder.glob("*.parquet"):
        table = pq.ParquetFile(file).read(columns=list(_COLUMNS))
        begins = table["begin"].cast(pa.timestamp("s", "UTC"), safe=False).cast(pa.int64())
        columns = [begins, *(table[name] for name in _COLUMNS[1:])]
        rows += [
            WindowRow(*values)
            for values in zip(*(column.to_pylist() for column in columns), strict=True)
        ]
    return sorted(rows)
