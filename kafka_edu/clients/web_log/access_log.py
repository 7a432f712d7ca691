r"""Read the lines of a web server's access log.

This is plain Python without other modules of kafka-edu, so Spark's executors can import it.

A line has Apache's Combined Log Format and one additional field, the request time in µs (`%D`):

    10.4.7.9 - ann [01/Aug/2018:20:15:07 +0000] "GET /cart HTTP/1.1" 200 512 "-" "curl/7.61" 1834
    client   user  time                          method path        status size referrer agent µs

`parse` never raises and never drops a line. It returns the fields. If the line is wrong, it returns
the line with its leftmost fault. So a pipeline can keep bad lines apart (quarantine) and count
them.

The other functions of this module compute what the Spark pipeline computes: windows, exact
percentiles, sessions. The functions work on a list in memory, and Spark on data that does not fit
into memory.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

#: The combined log format: host ident user [time] "request" status bytes … Group 1 is the status.
STATUS: Final = r'^\S+ \S+ \S+ \[[^\]]+\] "[^"]*" (\d{3}) '
MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Reason(StrEnum):
    """The reason why a line is in quarantine.

    Each value is the text that tables and topics show.
    """

    EMPTY = "empty"
    NOT_TEXT = "not text"
    """The line has a byte outside printable ASCII. A web server writes such bytes as \\xhh."""
    CUT = "cut off"
    """The line ends before its last field, or inside a quoted field."""
    BAD_TIME = "bad time"
    BAD_REQUEST = "bad request line"
    """The request is not METHOD TARGET PROTOCOL.

    One example is a TLS handshake on the port for HTTP.
    """
    BAD_STATUS = "bad status"
    BAD_SIZE = "bad size"
    BAD_QUOTES = "bad quotes"
    """The referrer or the agent is not in quotes, or has a quote without a backslash inside."""
    BAD_REQUEST_TIME = "bad request time"
    EXTRA = "more after the last field"


class AccessLine(NamedTuple):
    """The fields of one good line."""

    client: str
    user: str
    """User name. Empty if the log has `-`."""
    time_s: int
    """Seconds since 1970, UTC. The time in a log has no fractions of a second."""
    method: str
    path: str
    protocol: str
    status: int
    size: int
    """Bytes of the response's body. 0 if the log has `-`."""
    referrer: str
    """Address of the page that linked to this one. Empty if the log has `-`."""
    agent: str
    duration_us: int


class Quarantined(NamedTuple):
    """A line that cannot be read, and the reason. `line` holds its unchanged bytes."""

    line: bytes
    reason: Reason


_NOT_TEXT: Final = re.compile(rb"[^ -~]")
#: Text in quotes. In it, a web server writes \" for a quote and \\ for a backslash.
_IN_QUOTES: Final = r'(?:[^"\\]|\\.)*'
_REQUEST: Final = r'([A-Z]+) ((?:[^ "\\]|\\[^ ])+) (HTTP/\d(?:\.\d)?)'
_TIME: Final = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)")
_STATUS: Final = r"[1-5]\d\d"
_NUMBER: Final = r"\d{1,15}"

_GOOD: Final = re.compile(
    rf'([^ ]+) [^ ]+ ([^ ]+) \[([^\]]*)\] "{_REQUEST}" ({_STATUS}) (-|{_NUMBER})'
    rf' "({_IN_QUOTES})" "({_IN_QUOTES})" ({_NUMBER})'
)

_PLAIN: Final = re.compile(r"([^ ]+)(?: |$)")
_BRACKETS: Final = re.compile(r"\[([^\]]*)\](?: |$)")
_QUOTED: Final = re.compile(rf'"({_IN_QUOTES})"(?: |$)')
_ANY: Final = re.compile(".*")
_CLOSED_BY: Final = {"[": r"\[[^\]]*\]", '"': f'"{_IN_QUOTES}"'}

#: The fields from left to right: the pattern of the field, the pattern of its content, and the
#: fault if one does not match. Too many or too few words before the time give BAD_TIME, because
#: then the first three fields are wrong.
_FIELDS: Final = (
    (_PLAIN, _ANY, Reason.BAD_TIME),
    (_PLAIN, _ANY, Reason.BAD_TIME),
    (_PLAIN, _ANY, Reason.BAD_TIME),
    (_BRACKETS, _ANY, Reason.BAD_TIME),
    (_QUOTED, re.compile(_REQUEST), Reason.BAD_REQUEST),
    (_PLAIN, re.compile(_STATUS), Reason.BAD_STATUS),
    (_PLAIN, re.compile(f"-|{_NUMBER}"), Reason.BAD_SIZE),
    (_QUOTED, _ANY, Reason.BAD_QUOTES),
    (_QUOTED, _ANY, Reason.BAD_QUOTES),
    (_PLAIN, re.compile(_NUMBER), Reason.BAD_REQUEST_TIME),
)


def parse(line: bytes) -> AccessLine | Quarantined:
    """Return the fields of a line, which must not include its line break.

    If the line is bad, return the line and the reason instead. O(length).
    """
    if not line:
        return Quarantined(line, Reason.EMPTY)
    if _NOT_TEXT.search(line):
        return Quarantined(line, Reason.NOT_TEXT)
    text = line.decode("ascii")
    good = _GOOD.fullmatch(text)
    if good is None:
        return Quarantined(line, first_fault(text))
    client, user, time, method, path, protocol, status, size, referrer, agent, duration = (
        good.groups()
    )
    time_s = read_time(time)
    if time_s is None:
        return Quarantined(line, Reason.BAD_TIME)
    return AccessLine(
        client,
        _or_empty(user),
        time_s,
        method,
        path,
        protocol,
        int(status),
        0 if size == "-" else int(size),
        _or_empty(referrer),
        agent,
        int(duration),
    )


def first_fault(text: str) -> Reason:
    """Return the leftmost fault of a bad line.

    If the end of the line cuts off a field, the fault is CUT. A cut inside the last field cannot be
    noticed, because the remaining digits are a valid number too.
    """
    position = 0
    for pattern, allowed, fault in _FIELDS:
        match = pattern.match(text, position)
        rest = text[position:]
        if match is None:
            is_cut = not rest or (rest[0] in _CLOSED_BY and not _is_closed(rest))
            return Reason.CUT if is_cut else fault
        if not allowed.fullmatch(match[1]):
            return fault
        if fault is Reason.BAD_TIME and pattern is _BRACKETS and read_time(match[1]) is None:
            return fault
        position = match.end()
    return Reason.EXTRA


def _is_closed(rest: str) -> bool:
    """Return whether the quote or bracket at the start of `rest` is closed anywhere."""
    return re.match(_CLOSED_BY[rest[0]], rest) is not None


def _or_empty(field: str) -> str:
    return "" if field == "-" else field


@lru_cache(maxsize=4096)  # lines of the same second come one after the other
def read_time(text: str) -> int | None:
    """Turn `01/Aug/2018:20:15:07 +0000` into seconds since 1970.

    Return None if there is no such time. `strptime` is not used, because it expects month names in
    the local language. Logs have English month names.
    """
    match = _TIME.fullmatch(text)
    if match is None or match[2] not in MONTHS:
        return None
    day, month, year = int(match[1]), MONTHS.index(match[2]) + 1, int(match[3])
    offset = timedelta(hours=int(match[8]), minutes=int(match[9]))
    try:
        zone = timezone(offset if match[7] == "+" else -offset)
        moment = datetime(
            year, month, day, int(match[4]), int(match[5]), int(match[6]), tzinfo=zone
        )
        return int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())
    except (ValueError, OverflowError):
        return None


def window_start(time_s: int, window_s: int) -> int:
    """Return the start of the window that contains this time, in seconds since 1970.

    Windows are counted from 1970, as in Spark's `window`. The start of a window belongs to it. Its
    end belongs to the next window.
    """
    return time_s - time_s % window_s


def nearest_rank(values: Iterable[int], percent: int) -> int:
    """Return the exact percentile by nearest rank.

    The result is the smallest value for which at least `percent` % of the values are not larger. Of
    200 values, p99 is the 198th. The result is always one of the values, and their order does not
    matter. O(n log n). Raises ValueError if there are no values.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("a percentile of no values does not exist")
    rank = max(1, -(-percent * len(ordered) // 100))  # rounded up, in whole numbers
    return ordered[rank - 1]


class Session(NamedTuple):
    """Requests of one client without a long pause between them."""

    first_s: int
    last_s: int
    lines: int


def sessions(times_s: Iterable[int], gap_s: int) -> list[Session]:
    """Return the sessions of one client, the earliest first. The times may have any order.

    A pause of more than `gap_s` seconds ends a session. A pause of exactly `gap_s` does not end it.
    Spark's `session_window` uses the same rule. O(n log n).
    """
    return list(_sessions_in_order(sorted(times_s), gap_s))


def _sessions_in_order(times_s: Sequence[int], gap_s: int) -> Iterator[Session]:
    begin = 0
    for index in range(1, len(times_s) + 1):
        if index == len(times_s) or times_s[index] - times_s[index - 1] > gap_s:
            yield Session(times_s[begin], times_s[index - 1], index - begin)
            begin = index
