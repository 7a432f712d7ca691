"""Exercise 01-6: the reference solution."""

from collections.abc import Sequence

Row = tuple[str, int]  # a partition, such as "web-0", and the offset to fetch from
Fetch = tuple[int, int, list[Row], list[str]]

NONE = 0
FETCH_SESSION_ID_NOT_FOUND = 70
NO_SESSION = 0
FULL = 0  # the epoch of a full fetch


class FetchSession:
    """Decides which partitions a fetch request names. The broker keeps a list of them, too."""

    def __init__(self, max_epoch: int) -> None:
        self.max_epoch = max_epoch  # after this epoch comes 1; Kafka's is 2,147,483,647
        self.session_id = NO_SESSION
        self.epoch = FULL
        self.known: dict[str, int] = {}  # what the broker has in its list

    def next_fetch(self, wanted: Sequence[Row]) -> Fetch:
        """Return the next fetch: (session id, epoch, rows to name, partitions to forget)."""
        now = dict(wanted)
        known = {} if self.epoch == FULL else self.known
        named = [(name, offset) for name, offset in wanted if known.get(name) != offset]
        forgotten = sorted(known.keys() - now.keys())
        self.known = now
        return self.session_id, self.epoch, named, forgotten

    def on_response(self, error_code: int, session_id: int, partitions: Sequence[str]) -> bool:
        """Process the response to the last fetch. Return whether its records may be used."""
        if error_code == FETCH_SESSION_ID_NOT_FOUND:
            self.begin_again(NO_SESSION)
            return False
        if error_code != NONE:
            self.begin_again(self.session_id)
            return False
        if self.epoch == FULL and set(partitions) != self.known.keys():
            self.begin_again(NO_SESSION)
            return False
        if not set(partitions) <= self.known.keys():
            self.begin_again(self.session_id)
            return False
        if session_id == NO_SESSION:
            self.begin_again(NO_SESSION)
            return True
        self.session_id = session_id
        self.epoch = self.epoch + 1 if self.epoch < self.max_epoch else 1
        return True

    def on_disconnect(self) -> None:
        """The connection was lost, and the last fetch has no response."""
        self.begin_again(self.session_id)

    def begin_again(self, session_id: int) -> None:
        """Make the next fetch full, with this session id. That fetch closes the old session."""
        self.session_id = session_id
        self.epoch = FULL
