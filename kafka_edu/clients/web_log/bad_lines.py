"""Make bad lines of a web log: one or more functions for each reason for quarantine."""

import re
from collections.abc import Callable
from typing import Final

from kafka_edu.clients.web_log.access_log import Reason

#: The maximum number of bytes that a maker adds to a line.
ADDED_BYTES: Final = 24


def _cut(line: bytes, number: int) -> bytes:
    """Cut off the end of the line, inside the quoted agent."""
    begin = line.rindex(b' "') + 2
    return line[: begin + number % max(1, line.rindex(b'"') - begin)]


def _not_text(line: bytes, number: int) -> bytes:
    """Put an umlaut into the user agent as one byte (Latin-1), as old programs do."""
    at = line.rindex(b' "') + 2
    return line[:at] + b"B\xfccher-%d " % (number % 100_000) + line[at:]


def _without_month(line: bytes, number: int) -> bytes:
    """Replace the month by a German one, or the date by 31 February."""
    if number % 2:
        return re.sub(rb"\[\d\d/\w{3}/", b"[31/Feb/", line, count=1)
    return re.sub(rb"/\w{3}/", b"/Mrz/", line, count=1)


def _two_clients(line: bytes, number: int) -> bytes:
    """Put two addresses at the start, as if the whole header X-Forwarded-For were logged.

    A good line has only one address.
    """
    client, _, rest = line.partition(b" ")
    return client + b", 10.0.%d.%d " % (number >> 8 & 255, number & 255) + rest


def _handshake(line: bytes, number: int) -> bytes:
    """Replace the request by a TLS handshake on the port for HTTP. The server escapes its bytes."""
    hello = rb"\x16\x03\x01\x%02x\x%02x" % (number >> 8 & 255, number & 255)
    return re.sub(rb'"[A-Z]+ [^"]*"', lambda _: b'"' + hello + b'"', line, count=1)


def _status(line: bytes, number: int) -> bytes:
    return re.sub(rb'" \d{3} ', b'" %d ' % (600 + number % 400), line, count=1)


def _size(line: bytes, number: int) -> bytes:
    return re.sub(rb'(" \d{3}) \S+ ', rb"\g<1> -%d " % (1 + number % 9), line, count=1)


def _quotes(line: bytes, number: int) -> bytes:
    """Put a quote without a backslash into the agent."""
    at = line.rindex(b'"')
    return line[:at] + b' "v%d" beta' % (number % 1000) + line[at:]


def _request_time(line: bytes, number: int) -> bytes:
    """Replace the request time in µs by a number of seconds with a decimal point."""
    return line[: line.rindex(b" ")] + b" 0.%03d" % (number % 1000)


def _extra(line: bytes, number: int) -> bytes:
    return line + b" pipe=%d" % (number % 100_000)


#: Each reason with a function that makes such a bad line. The function gets a good line and a
#: number that varies the fault.
MAKERS: Final[tuple[tuple[Reason, Callable[[bytes, int], bytes]], ...]] = (
    (Reason.CUT, _cut),
    (Reason.NOT_TEXT, _not_text),
    (Reason.BAD_TIME, _without_month),
    (Reason.BAD_TIME, _two_clients),
    (Reason.BAD_REQUEST, _handshake),
    (Reason.BAD_STATUS, _status),
    (Reason.BAD_SIZE, _size),
    (Reason.BAD_QUOTES, _quotes),
    (Reason.BAD_REQUEST_TIME, _request_time),
    (Reason.EXTRA, _extra),
    (Reason.EMPTY, lambda line, number: b""),
)
