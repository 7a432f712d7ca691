"""Exercise 16-20s: the reference solution."""

import json
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

EARLIEST = -2


def follow(
    spark: SparkSession, source: str, options: Mapping[str, str], partitions: int, folder: str
) -> None:
    """Write the topic's new records into `folder`, then return."""
    topic = options["subscribe"]
    done, ends = old_end(Path(folder, "checkpoint"), topic)
    begin = {f"{number}": ends.get(f"{number}", EARLIEST) for number in range(partitions)}
    there = {**options, "startingOffsets": json.dumps({topic: begin})}
    records = spark.readStream.format(source).options(**there).load()

    def write(rows: DataFrame, number: int) -> None:
        # Batch 0 has the rows of the micro-batch that the old job had planned, and more.
        rows.write.mode("overwrite").parquet(f"{folder}/rows/batch={done + 1 + number}")

    query = (
        records.selectExpr("partition", "offset", "cast(value AS string) AS value")
        .writeStream.option("checkpointLocation", f"{folder}/checkpoint-2")
        .foreachBatch(write)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def old_end(checkpoint: Path, topic: str) -> tuple[int, dict[str, int]]:
    """Return the number of the old job's last finished micro-batch, and its end offsets by
    partition. If no micro-batch is finished, the number is -1.
    """
    commits = (path.name for path in (checkpoint / "commits").iterdir())
    done = max((int(name) for name in commits if name.isdigit()), default=-1)
    if done < 0:
        return done, {}
    *_, offsets = (checkpoint / "offsets" / f"{done}").read_text().splitlines()
    return done, json.loads(offsets)[topic]
