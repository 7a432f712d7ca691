"""Lines of a web log as columns: what the generator makes, before they are text."""

from typing import NamedTuple

from kafka_edu.common.arrays import Int64s


class LogBlock(NamedTuple):
    """Lines in the order in which they are written. All arrays have one entry a line."""

    arrival_ms: Int64s
    """When the line is written: the record's timestamp. It never falls."""
    time_ms: Int64s
    """When the request came: the time in the line, which is shown in seconds."""
    session: Int64s
    """The number of the session."""
    visitor: Int64s
    request: Int64s
    """An index into `requests()`."""
    status: Int64s
    size: Int64s
    """-1 for `-`."""
    duration_us: Int64s
    referrer: Int64s
    """An index into the paths that are referrers, 0 for `-`."""
    agent: Int64s
    user: Int64s
    """0 for `-`."""
    client: Int64s
    """The lower three bytes of the address 10.x.x.x."""
    chance: Int64s
    """A number for whoever needs one more random choice."""

    def take(self, lines: int) -> "LogBlock":
        """Return the first lines."""
        return LogBlock(*(column[:lines] for column in self))

    def __len__(self) -> int:
        return int(self.arrival_ms.size)
