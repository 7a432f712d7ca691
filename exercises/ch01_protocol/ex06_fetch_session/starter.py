"""Exercise 01-6: write the class FetchSession. README.md describes the task. Check your file with
`kafka-edu lab check 01-6`. `kafka-edu lab hint 01-6` gives a hint.
"""

from collections.abc import Sequence

Row = tuple[str, int]  # a partition, such as "web-0", and the offset to fetch from
Fetch = tuple[int, int, list[Row], list[str]]

NONE = 0
FETCH_SESSION_ID_NOT_FOUND = 70
NO_SESSION = 0
FULL = 0  # the epoch of a full fetch


class FetchSession:
    """Decides which partitions a fetch names. The broker also keeps a list of the partitions."""

    def __init__(self, max_epoch: int) -> None:
        self.max_epoch = max_epoch  # after this epoch comes 1; Kafka's is 2,147,483,647

    def next_fetch(self, wanted: Sequence[Row]) -> Fetch:
        """Return (session id, epoch, rows to name, partitions to forget) of the next fetch."""
        raise NotImplementedError(
            "FetchSession.next_fetch is not written yet: it returns (session id, epoch, rows,"
            " partitions)"
        )

    def on_response(self, error_code: int, session_id: int, partitions: Sequence[str]) -> bool:
        """Handle the response to the last fetch. Return whether its records may be used."""
        raise NotImplementedError(
            "FetchSession.on_response is not written yet: it returns True or False"
        )

    def on_disconnect(self) -> None:
        """Handle a lost connection: the last fetch will get no response."""
        raise NotImplementedError(
            "FetchSession.on_disconnect is not written yet: it returns nothing, and the next fetch"
            " is full"
        )
