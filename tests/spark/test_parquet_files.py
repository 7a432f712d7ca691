"""The Parquet files that a job has left, read without Spark."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from exercises.runner.parquet_files import answer_to, each_file, rows_in

pytestmark = pytest.mark.spark


def put(path: Path, **columns: list[object]) -> None:
    import pyarrow
    from pyarrow.parquet import write_table

    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(pyarrow.table(columns), path)


def test_all_files_of_a_folder_and_the_columns_of_their_paths(tmp_path: Path) -> None:
    put(tmp_path / "topic=web" / "batch=0" / "part-0.parquet", offset=[0, 1])
    put(tmp_path / "topic=web" / "batch=1" / "part-0.parquet", offset=[2])
    put(tmp_path / "_temporary" / "part-9.parquet", offset=[9])
    put(tmp_path / ".part-8.parquet", offset=[8])
    (tmp_path / "_SUCCESS").touch()
    answer = rows_in(tmp_path)
    assert answer["columns"] == ("offset", "topic", "batch")
    assert answer["types"] == ("bigint", "string", "int"), "the names that Spark gives them"
    assert answer["batches"] == (((0, "web", 0), (1, "web", 0), (2, "web", 1)),)


def test_each_file_by_itself(tmp_path: Path) -> None:
    moment = datetime(2018, 8, 1, 10, 0, tzinfo=UTC)
    put(tmp_path / "b" / "2.parquet", value=[b"x", None])
    put(tmp_path / "1.parquet", time=[moment], numbers=[[1, 2]])
    assert list(each_file(tmp_path)) == [
        ("1.parquet", ("time", "numbers"), (("2018-08-01 10:00:00", [1, 2]),)),
        ("b/2.parquet", ("value",), ((b"x",), (None,))),
    ]


def test_a_folder_without_files_has_no_columns(tmp_path: Path) -> None:
    assert answer_to({"read": str(tmp_path / "none")}) == {
        "columns": (),
        "types": (),
        "batches": ((),),
    }


def test_a_broken_file_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    for question in ("read", "files"):
        (error,) = answer_to({question: str(tmp_path)}).values()
        assert isinstance(error, str)
        assert "\n" not in error
