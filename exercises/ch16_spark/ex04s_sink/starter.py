"""Exercise 16-4s: write a sink that stores each row once. README.md has the task.
`kafka-edu lab check 16-4s` tests your code, and `kafka-edu lab hint 16-4s` gives you a hint.
"""

from pyspark.sql import DataFrame


def write_batch(rows: DataFrame, batch_id: int, folder: str) -> None:
    """Write the rows of a micro-batch into `folder`, as Parquet."""
    raise NotImplementedError("write_batch is not written yet: it writes Parquet into `folder`")
