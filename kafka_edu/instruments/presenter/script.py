"""A script for the presenter: steps with narration, a question, acts, and what to look for.

These are the values that `script_reader` makes of a TOML file (docs/presenter.md).
"""

from collections.abc import Mapping
from typing import NamedTuple

Value = str | int | bool


class Condition(NamedTuple):
    """What one field of an event must hold."""

    field: str
    """The field's name; `target.id` is the field of a value within the event."""
    test: str
    """`is`, `has`, `lacks`, `above` or `below`."""
    value: Value


class Expectation(NamedTuple):
    """Something that the step waits for: an event, or a text on the screen."""

    look: str
    """What the learner should look for, in words."""
    event: str = ""
    """The event's name. Empty if a text is expected."""
    source: str = ""
    """The process that emits it, as `broker 1` or `zookeeper`. Empty: any."""
    where: tuple[Condition, ...] = ()
    bind: Mapping[str, str] = {}
    """Name → field. The event's value gets this name, for `{name}` in later texts."""
    text: str = ""


class ScriptAct(NamedTuple):
    """One act on the cluster, by its name in the table of acts."""

    name: str
    values: Mapping[str, Value]
    line: int


class Question(NamedTuple):
    """A question before the answer."""

    question: str
    choices: tuple[str, ...]
    right: int
    """The number of the right choice, from 1; 0 if none is marked."""
    answer: str


class Step(NamedTuple):
    """One step. It goes: narration, question, acts and what to look for, answer."""

    title: str
    say: str
    screen: str = ""
    load: tuple[str, ...] | None = None
    """Options of the command `load` to start with; None leaves the load as it is."""
    stop_load: bool = False
    acts: tuple[ScriptAct, ...] = ()
    ask: Question | None = None
    expectations: tuple[Expectation, ...] = ()
    line: int = 0


class Script(NamedTuple):
    """A whole presentation."""

    title: str
    steps: tuple[Step, ...]
    end: str = ""
    """The last words."""
    digest: str = ""
    """Of the file. A saved place belongs to one version of the file."""
