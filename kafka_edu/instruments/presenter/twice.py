"""Steps of a script that run twice with one difference, so that both runs can be compared.

    [twice.acks]
    a = { label = "acks=1", acks = "1" }
    b = { label = "acks=all", acks = "all" }
    rows = [{ what = "a produce took", value = "answered-sent", unit = "ms" }]

A step with `twice = "acks"` runs once with the values of `a` and once with those of `b`. In its
texts, `{@acks}` stands for the value of the run. The letter of the run is added to each name that
the step binds: `sent_a`, `sent_b`.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

RUNS: Final = ("a", "b")
"""The letters of the two runs. A name that a run binds ends in its letter."""
_NAME_IN_BRACES: Final = re.compile(r"\{([a-z][a-z0-9_]*)(:,)?\}")


def names_in_braces(text: str) -> list[str]:
    """Return the names whose values a text shows, such as `led` in `{led}` and in `{led:,}`."""
    return [found[1] for found in _NAME_IN_BRACES.finditer(text)]


class RowWish(NamedTuple):
    """A row of the comparison: its label, a bound name or a difference of two names, and a unit."""

    what: str
    value: str
    unit: str


class Twice(NamedTuple):
    """A group of steps that run twice: the values of each run, and the rows to compare."""

    name: str
    values: tuple[Mapping[str, str], Mapping[str, str]]
    rows: tuple[RowWish, ...]


def suffixed(names: str, letter: str) -> str:
    """Return the names with the letter of a run: `led-gone` becomes `led_a-gone_a`."""
    return "-".join(f"{name}_{letter}" for name in names.split("-"))


def of_run(value: Any, letter: str, values: Mapping[str, str], bound: Collection[str]) -> Any:
    """Return the values of a step (read from TOML) for one of the two runs.

    `bound` are the names that the group's steps bind. The run's letter is added to each of these
    names.
    """
    if isinstance(value, Mapping):
        return {
            key: _field_of_run(key, field, letter, values, bound)
            for key, field in value.items()
            if key != "twice"
        }
    if isinstance(value, list):
        return [of_run(each, letter, values, bound) for each in value]
    if not isinstance(value, str):
        return value
    for key, differs in values.items():
        value = value.replace(f"{{@{key}}}", differs)

    def name(found: re.Match[str]) -> str:
        if found[1] not in bound:
            return found[0]
        return f"{{{found[1]}_{letter}{found[2] or ''}}}"

    return _NAME_IN_BRACES.sub(name, value)


def _field_of_run(
    key: str, field: Any, letter: str, values: Mapping[str, str], bound: Collection[str]
) -> Any:
    if key == "bind":
        return {f"{name}_{letter}": of for name, of in field.items()}
    if key == "right" and isinstance(field, str):  # the right value of a typed number
        return suffixed(field, letter)
    if key == "after" and isinstance(field, str) and field in bound:  # a moment
        return suffixed(field, letter)
    return of_run(field, letter, values, bound)
