"""Parts that the tests of the PySpark exercises share: records, and checks of columns and plans."""

from collections.abc import Sequence
from typing import Final

from ..runner.mismatch import Mismatch
from ..runner.spark_learner import Row, Rows

#: The columns of `format("kafka-edu")`, which are those of Spark's own `format("kafka")`.
RECORDS: Final = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp,"
    " timestampType int"
)
PARTITIONS: Final = 3
#: Operators of a plan in which Python runs for each row.
PYTHON_OPERATORS: Final = (
    "BatchEvalPython",
    "ArrowEvalPython",
    "MapInPandas",
    "MapInArrow",
    "FlatMapGroupsInPandas",
    "PythonMapInArrow",
    "PythonUDTF",
)


def records_of(values: Sequence[bytes | None], at_s: int = 1_533_154_600) -> list[Row]:
    """Return a record for each value. The partitions of the topic take turns."""
    return [
        (
            None,
            value,
            "access-log",
            number % PARTITIONS,
            number // PARTITIONS,
            (at_s + number) * 1_000_000,
            0,
        )
        for number, value in enumerate(values)
    ]


def check_columns(asked: str, rows: Rows, wanted: dict[str, str]) -> None:
    """Raise Mismatch unless a job returned these columns, of these types, in this order."""
    came = dict(zip(rows.columns, rows.types, strict=True))
    if list(came.items()) == list(wanted.items()):
        return
    missing = [name for name in wanted if name not in came]
    more = [name for name in came if name not in wanted]
    other = [name for name in wanted if name in came and came[name] != wanted[name]]
    if missing:
        why = f"there is no column {missing[0]!r}"
    elif more:
        why = f"the task has no column {more[0]!r}"
    elif other:
        why = f"{other[0]} is of type {came[other[0]]}, and should be {wanted[other[0]]}"
    else:
        why = "the columns are right, their order is not"
    shown = ", ".join(f"{name} {kind}" for name, kind in wanted.items())
    raise Mismatch(
        asked, shown, ", ".join(f"{name} {kind}" for name, kind in came.items()), why, read="select"
    )


def check_no_python(asked: str, rows: Rows) -> None:
    """Raise Mismatch if the plan of a job runs Python for each row."""
    found = next((name for name in PYTHON_OPERATORS if name in rows.plan), "")
    if found:
        raise Mismatch(
            asked,
            "a plan of Spark's own expressions",
            f"a plan with {found}",
            "each line is copied to a Python process and back: built-in functions run in the JVM,"
            " about 20 times as fast",
            drawing=tuple(f"    {line}" for line in rows.plan.splitlines() if found in line)[:2],
        )


def closest(missing: Sequence[Row], wrong: Sequence[Row]) -> tuple[Row, Row]:
    """Return the missing row and the wrong row that have the most values in common."""
    return max(
        ((row, other) for row in missing[:50] for other in wrong[:50]),
        key=lambda pair: sum(a == b for a, b in zip(*pair, strict=False)),
    )


def shown(columns: Sequence[str], row: Row | None) -> dict[str, object] | None:
    """Return a row as a dict: name of the column → value."""
    return None if row is None else dict(zip(columns, row, strict=False))
