"""The description of a process's repeated stalls, which the supervisor sends to its clients.
`stalls.py` makes the stalls.
"""

from typing import NamedTuple


class Stall(NamedTuple):
    """The repeated stalls of one process. `ended` is the number of stalls that are over."""

    process: str
    stall_ms: int
    every_ms: int
    ended: int

    def __str__(self) -> str:
        return f"{self.process} stops for {self.stall_ms:,} ms every {self.every_ms:,} ms"
