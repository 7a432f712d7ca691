"""Public tests of exercise 16-7s. Run them with `kafka-edu lab check 16-7s`. The learner's job runs
in another process with its own Spark, and reads log dirs that the tests have written.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Final

import pytest

from ...runner.mismatch import Mismatch
from ...runner.spark_learner import SparkLearner
from ..log_dir_made import LogDir
from ..segments_made import Batch, random_segment, written

PLAIN: Final = tuple(Batch() for _ in range(8))
CODECS: Final = (("topic", "codec"), ("batches", "records", "bytes"))
Key = tuple[object, ...]
SEGMENTS: Final = (("topic", "partition", "file"), ("batches", "longest_walk"))


class Survey:
    """A log dir, and the learner's job on it, with a check of the two tables that it writes."""

    def __init__(self, learner: SparkLearner, given: Path, left: Path) -> None:
        self._learner = learner
        self._out = left
        self.logs = LogDir(given / "logs")

    def agrees(self, why: str = "") -> None:
        """Run the job, and raise Mismatch unless both tables are right."""
        self._learner.run_with(str(self.logs.path), str(self._out), connector="python")
        self._has("codecs", CODECS, self.logs.codecs(), why)
        self._has("segments", SEGMENTS, self.logs.segments(), why)

    def _has(
        self,
        table: str,
        columns: tuple[tuple[str, ...], tuple[str, ...]],
        right: Mapping[Key, object],
        why: str,
    ) -> None:
        keys, values = columns
        asked = f"spark.read.parquet(out + '/{table}')"
        came = self._learner.read(f"{self._out}/{table}")
        if sorted(came.columns) != sorted((*keys, *values)):
            raise Mismatch(
                asked, ", ".join((*keys, *values)), ", ".join(came.columns), "see README.md"
            )
        key_rows = list(zip(*(came.column(name) for name in keys), strict=True))
        number_rows = list(zip(*(came.column(name) for name in values), strict=True))
        found = dict(zip(key_rows, number_rows, strict=True))
        twice = [key for key, number in Counter(key_rows).items() if number > 1]
        if twice:
            raise Mismatch(
                asked,
                f"one row of {twice[0]}",
                f"{key_rows.count(twice[0])} rows",
                why or f"each row has its own {', '.join(keys)}",
            )
        wrong = [key for key in (*right, *found) if right.get(key) != found.get(key)]
        if wrong:
            key = wrong[0]
            shown = ", ".join(values)
            raise Mismatch(
                f"{asked}, the row of {key}: {shown}",
                right.get(key, "no such row"),
                found.get(key, "no such row"),
                why,
                drawing=self.logs.drawing(key),
                read="survey",
            )


@pytest.fixture
def survey(learner: SparkLearner, given: Path, left: Path) -> Survey:
    """The learner's job, with an empty log dir."""
    return Survey(learner, given, left)


def test_codecs(survey: Survey) -> None:
    """batches, records and bytes of each codec, by topic; markers do not count"""
    made = [Batch(9, codec, width=90) for codec in (0, 1, 2, 3, 4, 4)]
    survey.logs.put("web", 0, written([*made, Batch(3, lost=2), Batch(2, skip=7)]))
    survey.logs.put("web", 1, written([Batch(5, 1, transactional=True), Batch(marker=True)]))
    survey.logs.put("shop", 0, written([Batch(4), Batch(marker=True)]))
    survey.agrees("a marker is a control batch. The heads have the other numbers")


def test_walks(survey: Survey) -> None:
    """the longest walk of a segment, from the start of a search to its batch"""
    survey.logs.put("web", 0, written(PLAIN, 368_769))
    survey.logs.put("web", 2, written([Batch(1), Batch(1), Batch(1), Batch(1)], interval=100))
    survey.agrees("a search begins at the last entry whose offset is not above its own, or at 0")


def test_same_names(survey: Survey) -> None:
    """files of the same name in several partitions and topics"""
    survey.logs.put("web", 0, written(PLAIN, interval=200))
    survey.logs.put("web", 1, written([Batch(6, width=90)] * 5, interval=2_000))
    survey.logs.put("shop", 0, written([Batch(1, width=9)] * 20, interval=150))
    survey.agrees("each of these files is called 00000000000000000000.log")


def test_active(survey: Survey) -> None:
    """a segment to which the broker still writes: its last batch is cut"""
    survey.logs.put("web", 0, written([*PLAIN, Batch(width=60)], active=True, cut=61))
    survey.logs.put("web", 1, written([], active=True))
    survey.agrees("the cut batch does not count, and a segment without a whole batch has no row")


def test_many(survey: Survey, seed: int) -> None:
    """random segments, some compacted or active"""
    random = Random(seed)
    for topic in ("web", "shop"):
        for partition in range(3):
            survey.logs.put(topic, partition, random_segment(random))
    survey.agrees()
