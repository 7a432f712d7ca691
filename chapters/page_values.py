"""Check the values in a chapter's page against a run of its script, so that the page stays true.

A value is marked in the page by a comment after it, which readers do not see:

    It goes into slot **17**<!-- exact: slot_350 -->.
    The new leader came after **6.2 s**<!-- range: elected-killed 5500..9000 -->.

`exact` requires the value that the run has given to this name. `range` requires a number within the
bounds, both in the page and in the run. A time in the page may be in ms, s or min; the bounds are
in ms. `elected-killed` is the difference of two values of the run.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

_MARK: Final = re.compile(r"(?P<before>.*?)<!--\s*(?P<kind>\w+):\s*(?P<what>.*?)\s*-->", re.DOTALL)
_PRINTED: Final = re.compile(r"(?P<value>[^\s*`|(]+)(?P<unit> (?:ms|s|min|%))?[*`]*\Z")
_RANGE: Final = re.compile(
    r"(?P<name>[a-z]\w*)(?:-(?P<less>[a-z]\w*))? (?P<low>[\d.]+)\.\.(?P<high>[\d.]+)\Z"
)
_UNITS: Final = {"ms": 1.0, "s": 1000.0, "min": 60_000.0, "": 1.0, "%": 1.0}


class PageError(Exception):
    """A mark in the page cannot be read. The message names the line and the correct form."""


class PageValue(NamedTuple):
    """One marked value of a page."""

    line: int
    printed: str
    """The value as it is printed in the page, without its unit."""
    unit: str
    name: str
    less: str = ""
    """The name of the value that is subtracted; empty if there is none."""
    bounds: tuple[float, float] | None = None
    """The lowest and the highest valid number. None: the value must be equal to the run's."""


class Held(NamedTuple):
    """One value of the page, compared with the run's value."""

    value: PageValue
    seen: str
    """The value or values in the run; empty if the run has none."""
    objection: str
    """Why the page's value does not agree; empty if it does."""


def page_values(text: str) -> list[PageValue]:
    """Return the marked values of a page, in order. Raises PageError if a mark cannot be read."""
    return [_value(text, mark) for mark in _MARK.finditer(text) if mark["kind"] in _KINDS]


_KINDS: Final = ("exact", "range")


def _value(text: str, mark: re.Match[str]) -> PageValue:
    line = text.count("\n", 0, mark.end("before")) + 1
    printed = _PRINTED.search(" ".join(mark["before"].split()))
    if printed is None:
        raise PageError(f"line {line}: there is no value before '<!-- {mark['kind']}: … -->'")
    what = " ".join(mark["what"].split())
    value, unit = printed["value"].strip("*`").replace(",", ""), (printed["unit"] or "").strip()
    if mark["kind"] == "exact":
        return PageValue(line, value, unit, what)
    wanted = _RANGE.match(what)
    if wanted is None:
        raise PageError(f"line {line}: write '<!-- range: NAME LOW..HIGH -->', the bounds in ms")
    bounds = (float(wanted["low"]), float(wanted["high"]))
    return PageValue(line, value, unit, wanted["name"], wanted["less"] or "", bounds)


def compare(values: list[PageValue], names: Mapping[str, str]) -> list[Held]:
    """Compare each value of the page with the value of the run."""
    return [_compare(value, names) for value in values]


def _compare(value: PageValue, names: Mapping[str, str]) -> Held:
    for name in filter(None, (value.name, value.less)):
        if name not in names:
            return Held(value, "", f"the run binds no '{name}'")
    seen = names[value.name]
    if value.bounds is None:
        wrong = "" if seen == value.printed else f"the page says {value.printed}, the run {seen}"
        return Held(value, seen, wrong)
    try:
        measured = float(seen) - (float(names[value.less]) if value.less else 0.0)
        printed = float(value.printed) * _UNITS[value.unit]
    except ValueError:
        return Held(value, seen, f"'{value.printed}' and '{seen}' must be numbers")
    low, high = value.bounds
    for who, number in (("page", printed), ("run", measured)):
        if not low <= number <= high:
            wrong = f"the {who}'s {number:g} is not {low:g} to {high:g}"
            return Held(value, f"{measured:g}", wrong)
    return Held(value, f"{measured:g}", "")
