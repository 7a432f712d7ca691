"""Public tests of exercise 16-4s. Run them by `kafka-edu lab check 16-4s`: the learner's function
runs in another process, with a Spark of its own, and `learner` asks it.
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
    """A folder that the learner's function writes, and what must be in it."""

    def __init__(self, learner: SparkLearner, folder: Path) -> None:
        self._learner = learner
        self.folder = str(folder / "out")

    def write(self, *batches: Batch) -> None:
        """Write batches, one after the other."""
        self._learner.sink(ROWS, batches, self.folder)

    def crash(self) -> None:
        """Let the process and its JVM end, as by kill -9."""
        self._learner.close()

    def holds(self, right: Sequence[Row], *, twice: str = TWICE, lost: str = OTHERS) -> None:
        """Raise Mismatch unless each of these rows is there once, and no other. `twice` and `lost`
        say why a row may be.
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
    """Return the rows of a batch."""
    return [(number % 3, batch_id * 100 + number) for number in range(rows)]


def all_of(*batches: int) -> list[Row]:
    return [row for batch_id in batches for row in rows_of(batch_id)]


@pytest.fixture
def folder(learner: SparkLearner, tmp_path: Path) -> Folder:
    """An empty folder for the learner's function."""
    return Folder(learner, tmp_path)


def test_in_order(folder: Folder) -> None:
    """three batches, each once"""
    folder.write(*((number, rows_of(number)) for number in range(3)))
    folder.holds(all_of(0, 1, 2))


def test_again(folder: Folder) -> None:
    """a batch comes again after it was written"""
    folder.write((0, rows_of(0)), (1, rows_of(1)), (1, rows_of(1)), (2, rows_of(2)))
    folder.holds(all_of(0, 1, 2))


def test_died_in_the_middle(folder: Folder) -> None:
    """a batch comes again of which a part was written"""
    folder.write((0, rows_of(0)), (1, rows_of(1)[:2]))
    folder.write((1, rows_of(1)))
    folder.holds(all_of(0, 1), lost=PART)


def test_after_a_crash(folder: Folder) -> None:
    """the process is killed, and the last batch comes again in a new one"""
    folder.write((0, rows_of(0)), (1, rows_of(1)))
    folder.crash()
    folder.write((1, rows_of(1)), (2, rows_of(2)))
    folder.holds(all_of(0, 1, 2), twice=f"{TWICE}, in a new process")


def test_empty(folder: Folder) -> None:
    """an empty batch, also before all others"""
    folder.write((0, []), (1, rows_of(1)), (2, []), (2, []))
    folder.holds(all_of(1))


def test_many(folder: Folder, seed: int) -> None:
    """batches that the seed lets die and come again"""
    random, right = Random(seed), list[Row]()
    for batch_id in range(6):
        rows = rows_of(batch_id, random.randrange(1, 9))
        tries = [
            (batch_id, rows[: random.randrange(len(rows) + 1)]) for _ in range(random.randrange(3))
        ]
        folder.write(*tries, (batch_id, rows))
        right += rows
    folder.holds(right, lost=PART)
