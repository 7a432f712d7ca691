"""Read the Parquet files that a job has left, without Spark.

`python -m exercises.runner.parquet_files FILE WANTED LIMIT_S` answers questions about these files.
A question or an answer is one line of JSON, as in `spark_process`. `lab grade` runs this program in
a separate jail, because a file that a stranger's job has written may harm the program that reads
it:

  {"read": folder}   {"columns": […], "types": […], "batches": [[row, …]]}, the rows of all files in
                     the folder, with the names that Spark has for their types
  {"files": folder}  {"files": [[path below the folder, columns, rows], …]}, each file by itself

Names such as batch=7 in a path are columns, as in Spark. Files and folders whose names begin with _
or . are left out.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_edu.learner.learner_process import document_of

from .spark_process import sayable

if TYPE_CHECKING:
    from pyarrow import Table

Rows = tuple[tuple[object, ...], ...]


def answer_to(question: Mapping[str, str]) -> dict[str, object]:
    """Return the answer to a question. If PyArrow cannot read a file, the answer is {"error":
    text}, because the fault is in the file.
    """
    try:
        if "files" in question:
            return {"files": tuple(each_file(Path(question["files"])))}
        return rows_in(Path(question["read"]))
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}".partition("\n")[0]}


def rows_in(folder: Path) -> dict[str, object]:
    """Return the columns and rows of all files in a folder; no columns if there are no files."""
    from pyarrow import dataset
    from pyspark.sql.pandas.types import from_arrow_type

    if not any(parquet_files(folder)):
        return {"columns": (), "types": (), "batches": ((),)}
    table = dataset.dataset(folder, format="parquet", partitioning="hive").to_table()
    types = (from_arrow_type(field.type).simpleString() for field in table.schema)
    return {
        "columns": tuple(table.column_names),
        "types": tuple(types),
        "batches": (rows_of(table),),
    }


def each_file(folder: Path) -> Iterator[tuple[str, tuple[str, ...], Rows]]:
    """Yield for each file its path below the folder, its columns and its rows."""
    from pyarrow.parquet import ParquetFile

    for path in parquet_files(folder):
        with ParquetFile(path) as file:
            table = file.read()
        yield str(path.relative_to(folder)), tuple(table.column_names), rows_of(table)


def rows_of(table: "Table") -> Rows:
    """Return the rows of a table of PyArrow."""
    columns = [column.to_pylist() for column in table.columns]
    return tuple(tuple(map(sayable, row)) for row in zip(*columns, strict=True))


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files in a folder and below it, sorted."""
    return sorted(
        path
        for path in folder.rglob("*.parquet")
        if path.is_file()
        and not any(name.startswith(("_", ".")) for name in path.relative_to(folder).parts)
    )


def main() -> None:
    """Answer questions until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")

    def say(what: dict[str, object]) -> None:
        answers.write(json.dumps(what, default=document_of) + "\n")
        answers.flush()

    say({"loaded": sys.argv[2]})
    for line in sys.stdin:
        say(answer_to(json.loads(line)))


if __name__ == "__main__":
    main()
