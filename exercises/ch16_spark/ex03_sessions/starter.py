"""Exercise 16-3: group lines into sessions, also lines that come late. README.md has the task.
`kafka-edu lab check 16-3` tests your code, and `kafka-edu lab hint 16-3` gives you a hint.
"""

Session = tuple[int, int, int]  # first_s, last_s, lines


class Sessions:
    """Keeps the open sessions of every client."""

    def __init__(self, gap_s: int) -> None:
        self.gap_s = gap_s

    def add(self, client: str, time_s: int) -> Session:
        """Count a line of a client, and return the session to which this line belongs now."""
        raise NotImplementedError(
            "Sessions.add is not written yet: it returns (first_s, last_s, lines)"
        )

    def close(self, watermark_s: int) -> list[tuple[str, int, int, int]]:
        """Remove and return the sessions that are over at this watermark."""
        raise NotImplementedError(
            "Sessions.close is not written yet: it returns a list of (client, first_s, last_s,"
            " lines)"
        )
