"""Public tests of exercise 16-1. Run them with `kafka-edu lab check 16-1`. The learner's class runs
in another process, and the fixture `learner` calls it there.
"""

from random import Random
from typing import Final

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..log_lines import Line, Parts, cut, random_line, spoilt

LINES: Final = 400
PARTS: Final = (
    "ok",
    "client",
    "time_s",
    "method",
    "path",
    "status",
    "size",
    "agent",
    "duration",
)
GOOD: Final = Parts().line()


class Checked:
    """Calls the learner's parser with lines whose right answers are known."""

    def __init__(self, learner: Learner) -> None:
        self._made = learner.make()

    def agrees(self, line: Line) -> None:
        """Raise Mismatch unless the learner's `parse` returns the right answer for the line."""
        came = self._made.call("parse", line.text)
        if came != line.answer or _has_other_types(came, line.answer):
            raise Mismatch(
                f"parse({line.text!r})",
                line.answer,
                came,
                _why(line, came),
                drawing=line.drawn(),
                read="parse",
            )


def _has_other_types(came: object, expected: tuple[object, ...]) -> bool:
    """Return whether a value has a different type than expected. For Python, True == 1."""
    return isinstance(came, tuple) and [type(one) for one in came] != [
        type(one) for one in expected
    ]


def _why(line: Line, came: object) -> str:
    match came:
        case ("bad", _) if line.answer[0] == "ok":
            return f"the line is good{': ' if line.why else ''}{line.why}"
        case ("bad", *_) | ("ok", *_) if line.answer[0] == "bad":
            said = "it is good" if came[0] == "ok" else f"{came[1]!r}"
            return (
                f"the first field from the left that is wrong is {line.answer[1]!r} ({line.why});"
                f" your code says {said}"
            )
        case ("ok", *fields) if len(fields) == len(line.answer) - 1:
            index = next(
                i
                for i, pair in enumerate(zip(came, line.answer, strict=True))
                if pair[0] != pair[1] or type(pair[0]) is not type(pair[1])
            )
            why = f"{PARTS[index]} should be {line.answer[index]!r}, and is {came[index]!r}"
            return f"{why}: {line.why}" if line.why else why
    return 'parse returns ("ok", client, time_s, ... duration) or ("bad", field)'


@pytest.fixture
def parser(learner: Learner) -> Checked:
    """The learner's parser, with a check of its answers."""
    return Checked(learner)


def test_good(parser: Checked) -> None:
    """good lines"""
    parser.agrees(GOOD)
    parser.agrees(Parts(user="ann", method="POST", status=303, referrer="http://a/").line())


def test_zone(parser: Checked) -> None:
    """times in other time zones"""
    why = "the clock of the log is {} of UTC, so UTC is {}"
    parser.agrees(Parts(zone_minutes=120).line(why.format("2 hours ahead", "earlier")))
    parser.agrees(Parts(zone_minutes=-210).line(why.format("3 h 30 min behind", "later")))
    parser.agrees(Parts(time_s=1_514_763_000, zone_minutes=330).line())


def test_dash(parser: Checked) -> None:
    """a size of - is 0"""
    parser.agrees(Parts(size=None, status=304).line("a size of - means 0 bytes"))


def test_escaped(parser: Checked) -> None:
    """quotes and backslashes in the agent"""
    why = r"\" stands for a quote and \\ for a backslash inside a quoted field"
    parser.agrees(Parts(agent='Kiosk "7"').line(why))
    parser.agrees(Parts(agent="ends with \\").line(why))
    parser.agrees(Parts(agent='\\"', referrer='http://a/"b').line(why))


def test_confusing(parser: Checked) -> None:
    """an agent that looks like other fields, and an empty one"""
    why = "all text between quotes belongs to the field"
    parser.agrees(Parts(agent="[01/Aug/2018] 999 -").line(why))
    parser.agrees(Parts(agent="").line("the agent may be empty"))


def test_no_such_time(parser: Checked) -> None:
    """days, months and hours that do not exist"""
    for text, why in (
        ("31/Feb/2018:20:15:07 +0000", "February has no day 31"),
        ("29/Feb/2019:20:15:07 +0000", "2019 has no 29th of February"),
        ("01/Aug/2018:24:00:00 +0000", "an hour is 0 to 23"),
        ("01/Mrz/2018:20:15:07 +0000", "there is no such month"),
        ("01/Aug/2018:20:15:07", "it has no time zone"),
    ):
        parser.agrees(spoilt(GOOD, "time", f"[{text}]", why))
    leap = Parts(time_s=1_582_934_400).line("2020 has a 29th of February")
    parser.agrees(leap)


def test_request(parser: Checked) -> None:
    """requests that are not METHOD PATH PROTOCOL"""
    for text, why in (
        (r'"\x16\x03\x01"', "not METHOD PATH PROTOCOL"),
        ('"-"', "not METHOD PATH PROTOCOL"),
        ('"GET /my cart HTTP/1.1"', "a path has no space"),
        ('"GET / HTTP/1.1 "', "something follows the protocol"),
        ('"get / HTTP/1.1"', "a method is capital letters"),
    ):
        parser.agrees(spoilt(GOOD, "request", text, why))


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("status", "99", "not from 100 to 599"),
        ("status", "600", "not from 100 to 599"),
        ("status", "20", "not from 100 to 599"),
        ("status", "-", "not from 100 to 599"),
        ("size", "-7", "neither digits nor -"),
        ("size", "1e3", "neither digits nor -"),
        ("referrer", "-", "it is not in quotes"),
        ("agent", '"a"b"', "a quote inside it has no backslash"),
        ("duration", "0.25", "not digits alone"),
        ("duration", "-", "not digits alone"),
    ],
)
def test_bad_field(parser: Checked, name: str, text: str, why: str) -> None:
    """one field is wrong"""
    parser.agrees(spoilt(GOOD, name, text, why))


def test_cut(parser: Checked) -> None:
    """the line ends too early, after any of its fields"""
    for fields in range(1, len(GOOD.fields)):
        parser.agrees(cut(GOOD, fields))
    parser.agrees(Line(("",), ("bad", "client"), "the line is empty"))
    open_end = '"a'
    parser.agrees(
        Line((*GOOD.fields[:8], open_end), ("bad", "agent"), "it is not closed by a quote")
    )


def test_end(parser: Checked) -> None:
    """something follows the last field"""
    for more in ("7", "", '"x"'):
        why = "something follows the last field"
        parser.agrees(Line((*GOOD.fields, more), ("bad", "end"), why))


def test_first(parser: Checked) -> None:
    """two fields are wrong: the answer names the first one from the left"""
    line = spoilt(spoilt(GOOD, "duration", "x", ""), "time", "[-]", "it is no time")
    parser.agrees(line)
    parser.agrees(spoilt(spoilt(GOOD, "agent", "-", ""), "status", "0", "not from 100 to 599"))


def test_not_text(parser: Checked) -> None:
    """a character that is not printable ASCII"""
    why = "a character that is not printable ASCII"
    for text in ('"B\xfccher"', '"a\tb"', '"a\x00"', '"a\x7f"'):
        line = Line((*GOOD.fields[:8], text, GOOD.fields[9]), ("bad", "line"), why)
        parser.agrees(line)
    parser.agrees(Line((*GOOD.fields[:6], "\xb2", *GOOD.fields[7:]), ("bad", "line"), why))


def test_many(parser: Checked, seed: int) -> None:
    """hundreds of random lines, good and bad ones"""
    random = Random(seed)
    for _ in range(LINES):
        parser.agrees(random_line(random))
