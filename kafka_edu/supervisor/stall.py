"""The stalls of one process, as the supervisor tells them (`stalls.py` makes them)."""

from typing import NamedTuple


class Stall(NamedTuple):
    """The stalls of one process. `ended` is how many are over."""

    process: str
    stall_ms: int
    every_ms: int
    ended: int

    def __str__(self) -> str:
        return f"{self.process} stands still for {self.stall_ms:,} ms every {self.every_ms:,} ms"
