"""Many lines of a web log as columns of numbers. The generator makes text from these columns."""

from typing import NamedTuple

from kafka_edu.common.arrays import Int64s


class LogBlock(NamedTuple):
    """Lines in the order in which they are written. Each array has one entry for each line."""

    arrival_ms: Int64s
    """Time at which the line is written, in ms since 1970.

    It is the record's timestamp and never decreases.
    """
    time_ms: Int64s
    """Time of the request, in ms since 1970. The line shows it in seconds."""
    session: Int64s
    """Number of the session to which the line belongs."""
    visitor: Int64s
    request: Int64s
    """Index into the list that `catalogue.requests()` returns."""
    status: Int64s
    size: Int64s
    """Bytes of the response's body. -1 if the line has `-`."""
    duration_us: Int64s
    referrer: Int64s
    """Index into the paths that can be a referrer. 0 if the line has `-`."""
    agent: Int64s
    user: Int64s
    """Number of the user. 0 if the line has `-`."""
    client: Int64s
    """The lower three bytes of the client's address 10.x.x.x."""
    chance: Int64s
    """A random number for code that needs an additional random choice."""

    def take(self, lines: int) -> "LogBlock":
        """Return the first `lines` lines of the block."""
        return LogBlock(*(column[:lines] for column in self))

    def __len__(self) -> int:
        return int(self.arrival_ms.size)
