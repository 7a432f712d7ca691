"""Exercise 16-4s: the reference solution."""

from pyspark.sql import DataFrame


def write_batch(rows: DataFrame, batch_id: int, folder: str) -> None:
    """Write the rows of a micro-batch into `folder`, as Parquet."""
    rows.write.mode("overwrite").parquet(f"{folder}/batch={batch_id}")
