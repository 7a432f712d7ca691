"""The records that each client writes in transactions."""

from typing import Final

PARTITIONS: Final = 3
STORY: Final = (
    ("a1", "a2", "a3", "a4"),
    ("-", "b1", "b2", "b3"),
    ("c1",),
    ("-", "d1", "d2"),
    ("e1", "e2", "e3"),
)
"""Each transaction with its values. A transaction whose name begins with "-" is aborted."""
COMMITTED: Final = [value for values in STORY if values[0] != "-" for value in values]
WRITTEN: Final = [value for values in STORY for value in values if value != "-"]
