"""Write the files that an old query leaves: its checkpoint, as Spark writes it, and its rows. For
exercise 16-20s. tests/spark/test_old_query.py compares these files with those of a real query.
"""

import json
from itertools import zip_longest
from pathlib import Path
from typing import Final

from kafka_edu.clients.blocking import Admin

from .behind import GrowingTopic, value_of

TRIAL: Final = "clicks-trial"
"""Another topic that the query read. It had no records, and is deleted."""
TRIAL_ID: Final = "4b7f0a52-6c1e-4d0e-9d0b-1f2b8a6c3e11"
OPERATOR: Final = {
    "operatorInfo": {"operatorId": 0, "operatorName": "dedupe"},
    "stateStoreInfo": [{"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 2}],
}
"""Spark's description of the state of `dropDuplicates`. A query without it does not fit."""


class OldQuery:
    """A query that has written a topic's rows, and was stopped."""

    def __init__(self, topic: GrowingTopic, folder: Path, source: str, first: int = 0) -> None:
        """`first` is the number of the first micro-batch whose files are still there: Spark deletes
        the files of the oldest ones.
        """
        self._topic = topic
        self._folder = folder
        self._number = first
        self._begins = [0] * len(topic.ends)
        self._ids: dict[str, str] = {}
        if source == "kafka-edu":
            with Admin({"bootstrap.servers": topic.options["kafka.bootstrap.servers"]}) as admin:
                self._ids = {
                    topic.name: str(admin.describe_topics([topic.name])[topic.name].topic_id),
                    TRIAL: TRIAL_ID,
                }
        self._put("metadata", '{"id":"63964d2e-785d-44c3-88bb-6671c178e201"}')
        self._put("state/0/_metadata/metadata", f"v1\n{json.dumps(OPERATOR)}")
        (folder / "checkpoint" / "commits").mkdir()

    def batch(self, *, writes: float = 1.0, noted: bool = True) -> None:
        """Plan a micro-batch with all new records, and write a part of its rows. With `noted`,
        record in the checkpoint that the micro-batch is done.
        """
        begins, self._begins = self._begins, list(self._topic.ends)
        offsets: dict[str, dict[str, int | str]] = {
            self._topic.name: {f"{number}": end for number, end in enumerate(self._begins)},
            TRIAL: {"0": 0},
        }
        if self._ids:
            offsets["topic ids"] = {**self._ids}
        plan = {"batchWatermarkMs": 0, "batchTimestampMs": 1_533_154_600_000, "conf": {}}
        lines = ("v1", json.dumps(plan), json.dumps(offsets))
        self._put(f"offsets/{self._number}", "\n".join(lines))
        places = [
            (number, at)
            for number, (begin, end) in enumerate(zip_longest(begins, self._begins, fillvalue=0))
            for at in range(begin, end)
        ]
        self._write(places[: round(writes * len(places))])
        if noted:
            self._put(f"commits/{self._number}", 'v1\n{"nextBatchWatermarkMs":0}')
        self._number += 1

    def leaves(self, name: str) -> None:
        """Put a file into the checkpoint as Spark does: a checksum, or what a kill leaves."""
        self._put(name, "v1")

    def _write(self, places: list[tuple[int, int]]) -> None:
        """Write rows as a task of the micro-batch does."""
        import pyarrow
        from pyarrow.parquet import write_table

        folder = self._folder / "rows" / f"batch={self._number}"
        folder.mkdir(parents=True)
        columns = {
            "partition": pyarrow.array([number for number, _ in places], pyarrow.int32()),
            "offset": pyarrow.array([at for _, at in places], pyarrow.int64()),
            "value": pyarrow.array([value_of(*place) for place in places], pyarrow.string()),
        }
        write_table(pyarrow.table(columns), folder / "part-00000.snappy.parquet")

    def _put(self, name: str, text: str) -> None:
        file = self._folder / "checkpoint" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
