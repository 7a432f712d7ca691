"""Public tests of exercise 16-4s. Run them with `kafka-edu lab check 16-4s`. The learner's function
runs in another process with its own Spark, and the fixture `learner` calls it there.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final

import pytest

from ...runner.mismatch import Mismatch
from ...runner.spark_learner import Row, SparkLearner

ROWS: Final = "partition int, offset bigint"
TWICE: Final = "its batch came again"
PART: Final = "the first try of its batch had written only a part"
OTHERS: Final = "it was written by another batch"

Batch = tuple[int, list[Row]]


class Folder:
    """A folder into which the learner's function writes, with a check of its rows."""

    def __init__(self, learner: SparkLearner, left: Path) -> None:
        self._learner = learner
        self.folder = str(left)

    def write(self, *batches: Batch) -> None:
        """Let the learner's function write these batches, one after the other."""
        self._learner.sink(ROWS, batches, self.folder)

    def crash(self) -> None:
        """End the learner's process and its JVM, as kill -9 does."""
        self._learner.close()

    def holds(self, right: Sequence[Row], *, twice: str = TWICE, lost: str = OTHERS) -> None:
        """Raise Mismatch unless the folder has exactly these rows, each of them once. The
        message gives `twice` as the reason for a duplicate row, and `lost` for a lost row.
        """
        came = self._learner.read(self.folder)
        asked = "spark.read.parquet(folder)"
        missing = [name for name in ("partition", "offset") if name not in came.columns]
        if missing and right:
            raise Mismatch(
                asked,
                "the columns partition and offset",
                came.columns,
                f"there is no column {missing[0]}" if came.columns else "there is no Parquet in it",
            )
        places = (
            [came.columns.index(name) for name in ("partition", "offset")] if came.columns else []
        )
        counts = Counter(tuple(row[at] for at in places) for row in came.rows)
        for row in right:
            if counts[row] != 1:
                why = (
                    f"is lost: {lost}"
                    if not counts[row]
                    else f"is there {counts[row]} times: {twice}"
                )
                raise Mismatch(
                    asked,
                    f"{len(right)} rows",
                    f"{counts.total()} rows",
                    f"row {row} {why}",
                    read="write_batch",
                )
        if counts.total() != len(right):
            row = next(row for row in counts if row not in right)
            raise Mismatch(
                asked, f"{len(right)} rows", f"{counts.total()} rows", f"nobody wrote row {row}"
            )


def rows_of(batch_id: int, rows: int = 4) -> list[Row]:
    """Return the rows of a batch: (partition, offset) of each."""
    return [(number % 3, batch_id * 100 + number) for number in range(rows)]


def all_of(*batches: int) -> list[Row]:
    return [row for batch_id in batches for row in rows_of(batch_id)]


@pytest.fixture
def folder(learner: SparkLearner, left: Path) -> Folder:
    """An empty folder into which the learner's function writes."""
    return Folder(learner, left)


def test_in_order(folder: Folder) -> None:
    """three batches, each of them written once"""
    folder.write(*((number, rows_of(number)) for number in range(3)))
    folder.holds(all_of(0, 1, 2))


def test_again(folder: Folder) -> None:
    """a batch comes again after it was written completely"""
    folder.write((0, rows_of(0)), (1, rows_of(1)), (1, rows_of(1)), (2, rows_of(2)))
    folder.holds(all_of(0, 1, 2))


def test_died_in_the_middle(folder: Folder) -> None:
    """a batch comes again after only a part of it was written"""
    folder.write((0, rows_of(0)), (1, rows_of(1)[:2]))
    folder.write((1, rows_of(1)))
    folder.holds(all_of(0, 1), lost=PART)


def test_after_a_crash(folder: Folder) -> None:
    """the process is killed, and the last batch comes again in a new process"""
    folder.write((0, rows_of(0)), (1, rows_of(1)))
    folder.crash()
    folder.write((1, rows_of(1)), (2, rows_of(2)))
    folder.holds(all_of(0, 1, 2), twice=f"{TWICE}, in a new process")


def test_empty(folder: Folder) -> None:
    """empty batches, one of them before all others"""
    folder.write((0, []), (1, rows_of(1)), (2, []), (2, []))
    folder.holds(all_of(1))


def test_many(folder: Folder, seed: int) -> None:
    """random batches, some of which are written in part and come again"""
    random, right = Random(seed), list[Row]()
    for batch_id in range(6):
        rows = rows_of(batch_id, random.randrange(1, 9))
        tries = [
            (batch_id, rows[: random.randrange(len(rows) + 1)]) for _ in range(random.randrange(3))
        ]
        folder.write(*tries, (batch_id, rows))
        right += rows
    folder.holds(right, lost=PART)
