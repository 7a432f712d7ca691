"""A script for the presenter: steps with narration, a question, acts, and events to wait for.

`script_reader` makes these values from a TOML file (docs/presenter.md).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_edu.trace.event import Level
from kafka_edu.trace.events.spark import JobStarted

Value = str | int | bool

MOMENT: Final = "@ms"
"""In `bind`, this stands for the time of the event, in ms of the machine's monotonic clock."""
SENDER: Final = "@broker"
"""In `bind`, this stands for the id of the broker that emitted the event."""


class Picture(NamedTuple):
    """A picture that a step shows. It shows what the real classes did in a simulation."""

    text: str
    """The picture's lines for a terminal, with ANSI escapes for colours."""
    names: Mapping[str, str] = {}
    """Names that later texts and pages may use, with their values from the picture."""


class Jobs(NamedTuple):
    """The jobs of a chapter, such as Spark jobs. They all run in one separate process."""

    command: tuple[str, ...] = ()
    """The words of the `kafka-edu` command that starts this process.

    The process reads the names of jobs from its standard input, one on each line. It ends when its
    standard input is closed.
    """
    names: Mapping[str, str] = {}
    """Each job's name, and the job in a few words."""


class ClusterWish(NamedTuple):
    """The options of `cluster up` with which a cluster is started for this script."""

    brokers: int = 3
    props: Mapping[str, str] = {}
    broker_props: Mapping[int, Mapping[str, str]] = {}
    """The settings of single brokers, by broker id. A rack is the setting `broker.rack`."""
    zookeeper: str = "embedded"
    """The kind of ZooKeeper: `embedded` or `apache`."""
    zookeepers: int | None = None
    """The number of Apache ZooKeeper servers. None means one server."""
    api_level: str | None = None
    with_relays: bool = False


class Condition(NamedTuple):
    """A condition on one field of an event."""

    field: str
    """The field's name. `target.id` is the field `id` inside the value `target`."""
    test: str
    """The kind of comparison: `is`, `has`, `lacks`, `above` or `below`."""
    value: Value
    """The value to compare with. A text may have bound names in braces."""


class Expectation(NamedTuple):
    """Something that the step waits for: an event, or a text on the screen."""

    look: str
    """The things the learner should look for, in words."""
    event: str = ""
    """The type of the event. Empty if a text is expected."""
    source: str = ""
    """The process that emits the event, as `broker 1` or `zookeeper`. Empty means any process."""
    where: tuple[Condition, ...] = ()
    bind: Mapping[str, str] = {}
    """Each name to bind, and the field whose value it gets. Later texts use it as `{name}`.

    The field `@ms` is the time of the event, and `@broker` the broker that emitted it.
    """
    text: str = ""
    after: str = ""
    """The name that the script gave to a moment. Only later events count. If it is empty, all
    events count.
    """


class FactFilter(NamedTuple):
    """A filter for facts, by their type and fields."""

    event: str
    source: str = ""
    """The process that emits the fact. Empty means any process."""
    where: tuple[Condition, ...] = ()


class ScriptAct(NamedTuple):
    """One act on the cluster. Its name is a key of ACTS."""

    name: str
    values: Mapping[str, Value]
    line: int


class Number(NamedTuple):
    """A question that the learner answers with a number.

    A typed number that is near the right number counts as right.
    """

    right: str
    """The right number: a bound name, or the difference of two bound names: `heir_at-killed_at`."""
    unit: str = ""
    """The unit, for example `ms`. Empty if the number is a count."""
    within: float = 1.0
    """The largest factor between the typed number and the right one that counts as near.

    With 2, half and double the right number are near. With 1, only the right number itself.
    """

    def value(self, names: Mapping[str, str]) -> int | None:
        """Return the right number, or None while the names for it are not bound."""
        name, _, less = self.right.partition("-")
        try:
            return int(names[name]) - (int(names[less]) if less else 0)
        except (KeyError, ValueError):
            return None

    def is_near(self, typed: int, names: Mapping[str, str]) -> bool:
        """Return whether a typed number is near enough to count as right."""
        right = self.value(names)
        if right is None:
            return False
        low, high = sorted((typed, right))
        return high <= low * self.within

    def words(self, number: int | None) -> str:
        """Return a number with its unit as text."""
        return f"{number:,} {self.unit}".rstrip() if number is not None else "…"


SURE: Final = ("a guess", "rather sure", "sure")
"""The words for how sure a learner is of an answer. The first one has the number 1."""


class Question(NamedTuple):
    """A question that the learner answers before the events happen.

    It has choices, or a number to type, or neither.
    """

    question: str
    choices: tuple[str, ...]
    right: int
    """The number of the right choice, from 1. 0 if no choice is marked as right."""
    answer: str
    replies: tuple[str, ...] = ()
    """The reply to each choice, or an empty text. `()` if no choice has a reply."""
    number: Number | None = None

    @property
    def has_answer(self) -> bool:
        """Return whether the question has a right answer."""
        return bool(self.right or self.number)

    def missed(self, said: int | None, names: Mapping[str, str]) -> bool:
        """Return whether the learner's choice or number is wrong.

        No answer does not count as wrong.
        """
        if said is None or not self.has_answer:
            return False
        if self.number is not None:
            return not self.number.is_near(said, names)
        return said != self.right

    def right_words(self, names: Mapping[str, str]) -> str:
        """Return the right choice or number as it stands in the script: names in braces are not
        replaced by their values.
        """
        if self.number is not None:
            return self.number.words(self.number.value(names))
        return self.choices[self.right - 1]


class CompareRow(NamedTuple):
    """One row of a comparison: the same number from each of the two runs."""

    what: str
    numbers: tuple[Number, Number]


class Comparison(NamedTuple):
    """Shows two runs of the same steps side by side."""

    labels: tuple[str, str]
    rows: tuple[CompareRow, ...]


class Step(NamedTuple):
    """One step of a script. Its parts are: narration, question, acts and watching, answer."""

    title: str
    say: str
    screen: str = ""
    load: tuple[str, ...] | None = None
    """Options of the command `load`, which this step starts. With None the load does not change."""
    stop_load: bool = False
    job: str = ""
    """The name of the job to run. The job of an earlier step ends. Empty if there is no new job."""
    acts: tuple[ScriptAct, ...] = ()
    ask: Question | None = None
    expectations: tuple[Expectation, ...] = ()
    line: int = 0
    show: str = ""
    """The name of the picture that is shown after the question."""
    acts_first: bool = False
    """Whether the acts may begin before the step's job has begun."""
    hands: bool = False
    """Whether the learner carries out the acts. The space key then carries them out as a help."""
    level: Level = Level.STATE
    """The level of events that the step requests from the processes.

    At `all` a busy cluster sends more events than the dashboard can read.
    """
    facts: tuple[str | FactFilter, ...] | None = None
    """The facts that the plain presenter (without the dashboard) prints. None means all facts.

    A fact is printed if it passes one of these filters: a word that its line contains (which may be
    a bound name in braces), or a type of event. A fact of an internal topic passes only by its type
    or by a word with `__`. The facts that the step waits for are always printed.
    """
    compare: Comparison | None = None
    """Two runs to show side by side, after everything the step waits for has happened."""

    @property
    def lasting_load(self) -> tuple[str, ...] | None:
        """The load of this step, if it runs until it is stopped. A load with `--seconds` ends by
        itself, and only the step that starts it needs it.
        """
        return None if self.load is not None and "--seconds" in self.load else self.load


class Break(NamedTuple):
    """A suggestion of what the learner may break in the live cluster by hand."""

    say: str
    commands: tuple[str, ...]
    """The `kafka-edu` commands to type, with roles and names in braces."""


class Script(NamedTuple):
    """A whole presentation: a title, steps, and suggestions of what to break."""

    title: str
    steps: tuple[Step, ...]
    end: str = ""
    """The text of the last page."""
    digest: str = ""
    """A hash of the file. A saved place is valid only for the same text of the file."""
    cluster: ClusterWish = ClusterWish()
    pictures: Mapping[str, Picture] = {}
    jobs: Jobs = Jobs()
    breaks: tuple[Break, ...] = ()

    def events(self) -> frozenset[str]:
        """Return the types of the events that the steps and their acts wait for.

        The acts of a step with a job wait for JobStarted.
        """
        jobs = frozenset(JobStarted.__name__ for step in self.steps if step.job)
        return jobs | frozenset(
            each.event for step in self.steps for each in step.expectations if each.event
        )
