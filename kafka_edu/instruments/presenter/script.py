"""A script for the presenter: steps with narration, a question, acts, and what to look for.

These are the values that `script_reader` makes of a TOML file (docs/presenter.md).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_edu.trace.event import Level

Value = str | int | bool

MOMENT: Final = "@ms"
"""In `bind`, the name of the time of the event itself, in ms of the machine's monotonic clock."""
SENDER: Final = "@broker"
"""In `bind`, the id of the broker that emitted the event."""


class Picture(NamedTuple):
    """Something that the real classes did in a time of their own, drawn for the learner."""

    text: str
    """Lines for a terminal; colours are ANSI escapes."""
    names: Mapping[str, str] = {}
    """The values in it that later texts and pages may name."""


class Jobs(NamedTuple):
    """The jobs of a chapter that run in one process of their own, such as Spark's."""

    command: tuple[str, ...] = ()
    """The words of the `kafka-edu` command of that process. It reads the names of jobs from its
    standard input, a line each, and ends when that is closed.
    """
    names: Mapping[str, str] = {}
    """Name → the job in a few words."""


class ClusterWish(NamedTuple):
    """The cluster that the script wants, if it is started for the script.

    Each field is an option of `cluster up`.
    """

    brokers: int = 3
    props: Mapping[str, str] = {}
    broker_props: Mapping[int, Mapping[str, str]] = {}
    """Broker → its own settings. Racks are `broker.rack` here."""
    zookeeper: str = "embedded"
    """`embedded` or `apache`."""
    zookeepers: int | None = None
    """The number of Apache's servers. None: one."""
    api_level: str | None = None
    with_relays: bool = False


class Condition(NamedTuple):
    """The value that one field of an event must hold."""

    field: str
    """The field's name; `target.id` is the field of a value within the event."""
    test: str
    """`is`, `has`, `lacks`, `above` or `below`."""
    value: Value


class Expectation(NamedTuple):
    """Something that the step waits for: an event, or a text on the screen."""

    look: str
    """The thing to look for, in words."""
    event: str = ""
    """The event's name. Empty if a text is expected."""
    source: str = ""
    """The process that emits it, as `broker 1` or `zookeeper`. Empty: any."""
    where: tuple[Condition, ...] = ()
    bind: Mapping[str, str] = {}
    """Name → field. The event's value gets this name, for `{name}` in later texts. The field
    `@ms` is the time of the event, and `@broker` the broker that emitted it.
    """
    text: str = ""


class FactFilter(NamedTuple):
    """The facts that count for a step, by their type and fields."""

    event: str
    source: str = ""
    """The process that emits it. Empty: any."""
    where: tuple[Condition, ...] = ()


class ScriptAct(NamedTuple):
    """One act on the cluster, by its name in the table of acts."""

    name: str
    values: Mapping[str, Value]
    line: int


class Number(NamedTuple):
    """A number that the learner types, judged by nearness."""

    right: str
    """A name that the script binds, or the difference of two: `heir_at-killed_at`."""
    unit: str = ""
    """`ms` for example; empty for a count."""
    within: float = 1.0
    """A number is near if it is at most this many times as large as the right one, and at least
    that part of it. 1: only the right one is near.
    """

    def value(self, names: Mapping[str, str]) -> int | None:
        """Return the right number, or None as long as it is not known."""
        name, _, less = self.right.partition("-")
        try:
            return int(names[name]) - (int(names[less]) if less else 0)
        except (KeyError, ValueError):
            return None

    def is_near(self, typed: int, names: Mapping[str, str]) -> bool:
        """Return whether a typed number is near enough."""
        right = self.value(names)
        if right is None:
            return False
        low, high = sorted((typed, right))
        return high <= low * self.within

    def words(self, number: int | None) -> str:
        """Return a number with its unit, to read."""
        return f"{number:,} {self.unit}".rstrip() if number is not None else "…"


SURE: Final = ("a guess", "rather sure", "sure")
"""The words for how sure a learner is of an answer, from 1."""


class Question(NamedTuple):
    """A question before the answer: with choices, with a number to type, or with neither."""

    question: str
    choices: tuple[str, ...]
    right: int
    """The number of the right choice, from 1; 0 if none is marked."""
    answer: str
    replies: tuple[str, ...] = ()
    """A reply for each choice, empty where it has none. Without replies it is empty."""
    number: Number | None = None

    @property
    def has_answer(self) -> bool:
        """Return whether an answer can be right or wrong."""
        return bool(self.right or self.number)

    def missed(self, said: int | None, names: Mapping[str, str]) -> bool:
        """Return whether this choice, or this number, is wrong. No answer is no wrong one."""
        if said is None or not self.has_answer:
            return False
        if self.number is not None:
            return not self.number.is_near(said, names)
        return said != self.right

    def right_words(self, names: Mapping[str, str]) -> str:
        """Return the right choice or number as it stands in the script, to be filled."""
        if self.number is not None:
            return self.number.words(self.number.value(names))
        return self.choices[self.right - 1]


class CompareRow(NamedTuple):
    """One row of a comparison: the same number of both runs."""

    what: str
    numbers: tuple[Number, Number]


class Comparison(NamedTuple):
    """Two runs of the same steps side by side."""

    labels: tuple[str, str]
    rows: tuple[CompareRow, ...]


class Step(NamedTuple):
    """One step. It goes: narration, question, acts and what to look for, answer."""

    title: str
    say: str
    screen: str = ""
    load: tuple[str, ...] | None = None
    """Options of the command `load` to start with; None leaves the load as it is."""
    stop_load: bool = False
    job: str = ""
    """The name of the chapter's job to run. It ends the one before."""
    acts: tuple[ScriptAct, ...] = ()
    ask: Question | None = None
    expectations: tuple[Expectation, ...] = ()
    line: int = 0
    show: str = ""
    """The name of the picture that is shown after the question."""
    hands: bool = False
    """Whether the acts are the learner's: the space key only helps."""
    level: Level = Level.STATE
    """How much this step asks of the processes. At `all` a busy cluster sends more than the
    dashboard can read.
    """
    facts: tuple[str | FactFilter, ...] | None = None
    """Without the dashboard, only facts that one of these lets through are told: a word that the
    line has, which may name what is bound, or a type of event. None: all facts. A fact of an
    internal topic needs a type, or a word with `__`. What the step waits for is told anyway.
    """
    compare: Comparison | None = None
    """Two runs to show side by side, after the step has seen what it waits for."""


class Break(NamedTuple):
    """Something that the learner may do to the live cluster by hand."""

    say: str
    commands: tuple[str, ...]
    """Words of `kafka-edu` commands, with roles and names in braces."""


class Script(NamedTuple):
    """A whole presentation."""

    title: str
    steps: tuple[Step, ...]
    end: str = ""
    """The last words."""
    digest: str = ""
    """Of the file. A saved place belongs to one version of the file."""
    cluster: ClusterWish = ClusterWish()
    pictures: Mapping[str, Picture] = {}
    jobs: Jobs = Jobs()
    breaks: tuple[Break, ...] = ()

    def events(self) -> frozenset[str]:
        """Return the types of the events that steps wait for."""
        return frozenset(
            each.event for step in self.steps for each in step.expectations if each.event
        )
