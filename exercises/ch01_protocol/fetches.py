"""A correct client for exercise 01-6, and a table that shows what client and broker know."""

from collections.abc import Sequence
from typing import Final, NamedTuple

NONE: Final = 0
SESSION_ID_NOT_FOUND: Final = 70
INVALID_SESSION_EPOCH: Final = 71
FULL: Final = 0
ERRORS: Final = {
    SESSION_ID_NOT_FOUND: "FETCH_SESSION_ID_NOT_FOUND",
    INVALID_SESSION_EPOCH: "INVALID_FETCH_SESSION_EPOCH",
}

Row = tuple[str, int]


class Fetch(NamedTuple):
    """The contents of a fetch request."""

    session_id: int
    epoch: int
    named: tuple[Row, ...]
    forgotten: tuple[str, ...]


class Course:
    """A correct client of a fetch session. It returns each fetch, and why the fetch is right
    (KIP-227).
    """

    def __init__(self, max_epoch: int) -> None:
        self._max_epoch = max_epoch
        self._session_id = 0
        self._epoch = FULL
        self._listed: dict[str, int] = {}
        self.why = "the first fetch is full: session id 0, epoch 0"

    @property
    def listed(self) -> dict[str, int]:
        """The partitions and offsets in the broker's list, before the next fetch."""
        return {} if self._epoch == FULL else dict(self._listed)

    def next_fetch(self, wanted: Sequence[Row]) -> Fetch:
        listed, self._listed = self.listed, dict(wanted)
        named = tuple(row for row in wanted if listed.get(row[0]) != row[1])
        forgotten = tuple(sorted(name for name in listed if name not in self._listed))
        return Fetch(self._session_id, self._epoch, named, forgotten)

    def on_response(self, error_code: int, session_id: int, partitions: Sequence[str]) -> bool:
        """Return whether the records may be used. `why` then explains what the next fetch is."""
        strange = sorted(set(partitions) - self._listed.keys())
        missing = sorted(self._listed.keys() - set(partitions))
        if error_code:
            lost = error_code == SESSION_ID_NOT_FOUND
            self._begin_again(0 if lost else self._session_id)
            self.why = f"the response was error {error_code} ({ERRORS.get(error_code, 'no table')})"
            self.why += (
                ": the broker has no such session, so there is none to close"
                if lost
                else ": a full fetch follows, and its session id closes the old session"
            )
            return False
        if self._epoch == FULL and (strange or missing):
            self._begin_again(0)
            self.why = "the response to a full fetch must have all its partitions and no others"
            self.why += f", and {(strange or missing)[0]} is {'strange' if strange else 'missing'}"
            return False
        if strange:
            self._begin_again(self._session_id)
            self.why = f"{strange[0]} is not in the session, so both sides have lost each other"
            return False
        if session_id == 0:
            self._begin_again(0)
            self.why = "the response has session id 0: the broker keeps no session"
            return True
        self._session_id = session_id
        self._epoch = self._epoch + 1 if self._epoch < self._max_epoch else 1
        highest = f" ({self._max_epoch} is the highest)" if self._max_epoch < 99 else ""
        self.why = f"session {session_id} is open, and epoch {self._epoch} is next{highest}"
        return True

    def on_disconnect(self) -> None:
        self._begin_again(self._session_id)
        self.why = (
            "the connection was lost, and nobody knows whether the broker got the last fetch: a"
            " full one follows, and its session id closes the old session"
        )

    def _begin_again(self, session_id: int) -> None:
        self._session_id, self._epoch = session_id, FULL


def draw(listed: dict[str, int], wanted: Sequence[Row], came: object) -> tuple[str, ...]:
    """Return a table: what the broker has, what the client wants, and what the learner sends."""
    now = dict(wanted)
    named, forgotten = _sent(came)
    lines = [f"{'partition':<12}{'broker has':>12}{'wanted':>10}  {'right':<8}yours"]
    for name in sorted(now.keys() | listed.keys() | named | forgotten):
        right = (
            "forget"
            if name not in now and name in listed
            else ("name" if name in now and listed.get(name) != now[name] else "–")
        )
        yours = "forget" if name in forgotten else "name" if name in named else "–"
        sign = "" if right == yours else "  ✗"
        has, wants = listed.get(name, "–"), now.get(name, "–")
        lines.append(f"{name:<12}{has:>12}{wants:>10}  {right:<8}{yours}{sign}")
    return tuple(lines)


def _sent(came: object) -> tuple[set[str], set[str]]:
    """Return the partitions that a learner's fetch names, and those that it forgets. If the fetch
    is malformed, return empty sets.
    """
    match came:
        case (_, _, tuple(named), tuple(forgotten)):
            names = {str(row[0]) for row in named if isinstance(row, tuple) and row}
            return names, set(map(str, forgotten))
    return set(), set()
