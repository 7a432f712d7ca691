"""Exercise 16-1: the reference solution."""

import re
from datetime import datetime, timedelta, timezone

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
PLAIN = r"([^ ]+)(?: |$)"
QUOTED = r'"((?:[^"\\]|\\.)*)"(?: |$)'
FIELDS = (
    ("client", PLAIN),
    ("identity", PLAIN),
    ("user", PLAIN),
    ("time", r"\[([^\]]*)\](?: |$)"),
    ("request", QUOTED),
    ("status", r"([1-5]\d\d)(?: |$)"),
    ("size", r"(\d+|-)(?: |$)"),
    ("referrer", QUOTED),
    ("agent", QUOTED),
    ("duration", r"(\d+)(?: |$)"),
)
TIME = r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)"
REQUEST = r"([A-Z]+) ([^ ]+) HTTP/\d(?:\.\d)?"


def read_time(text: str) -> int | None:
    """Return a log's time as seconds since 1970 (UTC), or None if no such time exists."""
    match = re.fullmatch(TIME, text)
    if match is None or match[2] not in MONTHS:
        return None
    offset = timedelta(hours=int(match[8]), minutes=int(match[9]))
    try:
        moment = datetime(
            int(match[3]),
            MONTHS.index(match[2]) + 1,
            int(match[1]),
            int(match[4]),
            int(match[5]),
            int(match[6]),
            tzinfo=timezone(offset if match[7] == "+" else -offset),
        )
    except ValueError:
        return None
    return int(moment.timestamp())


class AccessLog:
    """Parses the lines of a web server's access log."""

    def parse(self, line: str) -> tuple[object, ...]:
        """Return ("ok", the values...), or ("bad", the name of the first field that is wrong)."""
        if re.search(r"[^ -~]", line):
            return ("bad", "line")
        found: dict[str, str] = {}
        position = 0
        time_s = request = None
        for name, pattern in FIELDS:
            match = re.compile(pattern).match(line, position)
            if match is None:
                return ("bad", name)
            found[name] = match[1]
            position = match.end()
            if name == "time":
                time_s = read_time(match[1])
                if time_s is None:
                    return ("bad", name)
            if name == "request":
                request = re.fullmatch(REQUEST, match[1])
                if request is None:
                    return ("bad", name)
        if position < len(line) or line.endswith(" "):
            return ("bad", "end")
        assert request is not None
        size = 0 if found["size"] == "-" else int(found["size"])
        agent = re.sub(r"\\(.)", r"\1", found["agent"])
        return (
            "ok",
            found["client"],
            time_s,
            request[1],
            request[2],
            int(found["status"]),
            size,
            agent,
            int(found["duration"]),
        )
