"""Makes good and bad lines of an access log for the tests, with the right answer for each line.

Nothing is parsed here. A line is built from its fields, so its right answer is known beforehand.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Final, NamedTuple

MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
Answer = tuple[object, ...]
WIDTH: Final = 75
"""How many characters of a line are drawn in one row."""


class Line(NamedTuple):
    """A line of the log: the texts of its ten fields, and the right answer for the line."""

    fields: tuple[str, ...]
    answer: Answer
    why: str = ""
    """Why the line is bad, or what is special about it."""

    @property
    def text(self) -> str:
        return " ".join(self.fields)

    def drawn(self) -> tuple[str, ...]:
        """Draw the line. Of a bad line, draw the part with the wrong field, and put marks (^) under
        this field.
        """
        shown = "".join(one if " " <= one <= "~" else "·" for one in self.text)
        if self.answer[0] != "bad":
            return tuple(
                f"    {shown[left : left + WIDTH]}" for left in range(0, len(shown), WIDTH)
            )
        name = str(self.answer[1])
        begin, length = self._span(name)
        left = max(0, begin + max(1, length) - WIDTH)
        return (
            f"    {shown[left : left + WIDTH]}",
            "    " + " " * (begin - left) + "^" * max(1, length),
            f"    {name}: {self.why}",
        )

    def _span(self, name: str) -> tuple[int, int]:
        """Return the position in the line at which a field begins, and the field's length."""
        if name == "line":
            return next(i for i, one in enumerate(self.text) if not " " <= one <= "~"), 1
        at = NAMES.index(name) if name in NAMES else len(self.fields) - 1
        before = " ".join(self.fields[:at])
        return len(before) + (at > 0), len(self.fields[at]) if at < len(self.fields) else 1


#: The fields of a line, from the left.
NAMES: Final = (
    "client",
    "identity",
    "user",
    "time",
    "request",
    "status",
    "size",
    "referrer",
    "agent",
    "duration",
)


class Parts(NamedTuple):
    """The values from which a good line is made."""

    client: str = "10.4.7.9"
    user: str = "-"
    time_s: int = 1_533_154_507
    zone_minutes: int = 0
    method: str = "GET"
    path: str = "/"
    status: int = 200
    size: int | None = 5
    referrer: str = "-"
    agent: str = "a"
    duration_us: int = 99

    def line(self, why: str = "") -> Line:
        """Return the line that has these values, with its right answer."""
        size = "-" if self.size is None else str(self.size)
        return Line(
            (
                self.client,
                "-",
                self.user,
                f"[{clock(self.time_s, self.zone_minutes)}]",
                f'"{self.method} {self.path} HTTP/1.1"',
                str(self.status),
                size,
                f'"{_escaped(self.referrer)}"',
                f'"{_escaped(self.agent)}"',
                str(self.duration_us),
            ),
            (
                "ok",
                self.client,
                self.time_s,
                self.method,
                self.path,
                self.status,
                self.size or 0,
                self.agent,
                self.duration_us,
            ),
            why,
        )


def clock(time_s: int, zone_minutes: int) -> str:
    """Return a time as the log writes it, in the given time zone."""
    zone = timezone(timedelta(minutes=zone_minutes))
    moment = datetime.fromtimestamp(time_s, UTC).astimezone(zone)
    sign = "-" if zone_minutes < 0 else "+"
    hours, minutes = divmod(abs(zone_minutes), 60)
    return (
        f"{moment:%d}/{MONTHS[moment.month - 1]}/{moment:%Y:%H:%M:%S} {sign}{hours:02}{minutes:02}"
    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def spoilt(line: Line, name: str, text: str, why: str) -> Line:
    """Return a bad line: a copy of the line with a wrong text in the field `name`."""
    fields = list(line.fields)
    fields[NAMES.index(name)] = text
    return Line(tuple(fields), ("bad", name), why)


def cut(line: Line, fields: int) -> Line:
    """Return a bad line that has only the first `fields` fields of the line."""
    return Line(line.fields[:fields], ("bad", NAMES[fields]), "the line ends before it")


def random_line(random: Random) -> Line:
    """Return a random line. It is good, or has one mistake."""
    parts = Parts(
        client=f"10.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(256)}",
        user=random.choice(("-", "ann", "bo.k")),
        time_s=random.randrange(1_500_000_000, 1_700_000_000),
        zone_minutes=random.choice((0, 0, 120, -210, 330)),
        method=random.choice(("GET", "POST", "HEAD")),
        path=random.choice(("/", "/cart", "/a?q=1&b=[2]", "/api/stock")),
        status=random.choice((200, 204, 304, 404, 503)),
        size=random.choice((None, 0, random.randrange(1_000_000))),
        referrer=random.choice(("-", "http://a.example/x y", 'http://a/"b"')),
        agent=random.choice(("curl/7.61", 'A "B" C', "back\\slash", "", "x [y] 200 7 -")),
        duration_us=random.randrange(10_000_000),
    )
    line = parts.line()
    spoil = random.randrange(-4, len(SPOILERS))
    return line if spoil < 0 else SPOILERS[spoil](line, random)


SPOILERS: Final[tuple[Callable[[Line, Random], Line], ...]] = (
    lambda line, random: spoilt(
        line, "time", "[31/Feb/2018:20:15:07 +0000]", "February has no day 31"
    ),
    lambda line, random: spoilt(
        line, "time", "[01/Mrz/2018:20:15:07 +0000]", "there is no such month"
    ),
    lambda line, random: spoilt(line, "request", r'"\x16\x03\x01"', "not METHOD PATH PROTOCOL"),
    lambda line, random: spoilt(line, "request", '"GET /a b HTTP/1.1"', "four words, not three"),
    lambda line, random: spoilt(
        line, "status", str(random.choice((0, 99, 600, 999))), "not from 100 to 599"
    ),
    lambda line, random: spoilt(line, "size", "-7", "neither digits nor -"),
    lambda line, random: spoilt(line, "referrer", "-", "it is not in quotes"),
    lambda line, random: spoilt(line, "agent", '"a"b"', "a quote inside it has no backslash"),
    lambda line, random: spoilt(line, "duration", "0.25", "not digits alone"),
    lambda line, random: cut(line, random.randrange(1, len(NAMES))),
    lambda line, random: Line(
        (*line.fields, "extra"), ("bad", "end"), "something follows the last field"
    ),
    lambda line, random: Line(
        (*line.fields[:8], '"B\xfccher"', line.fields[9]),
        ("bad", "line"),
        "a character that is not printable ASCII",
    ),
)
