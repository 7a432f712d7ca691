"""Exercise 16-4s: a sink that writes each row once. README.md says what is asked;
`kafka-edu lab check 16-4s` tries it, `kafka-edu lab hint 16-4s` helps.
"""

from pyspark.sql import DataFrame


def write_batch(rows: DataFrame, batch_id: int, folder: str) -> None:
    """Write the rows of a micro-batch into `folder`, as Parquet."""
    raise NotImplementedError("write_batch is not written yet: it writes Parquet into `folder`")
