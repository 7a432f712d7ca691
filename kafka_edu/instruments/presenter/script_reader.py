"""Read a presenter's script from a TOML file. Every error names the file and the line."""

import difflib
import hashlib
import itertools
import re
import string
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn, get_type_hints

import kafka_edu.trace.events.all  # noqa: F401 - fills the registry of event types
from kafka_edu.common.python_process import as_typed_here
from kafka_edu.instruments.presenter.break_tools import SERVERS, ZOOKEEPER, in_braces
from kafka_edu.instruments.presenter.line_index import LineIndex
from kafka_edu.instruments.presenter.line_index import Path as Place
from kafka_edu.instruments.presenter.script import (
    MOMENT,
    SENDER,
    Break,
    ClusterWish,
    CompareRow,
    Comparison,
    Condition,
    Expectation,
    FactFilter,
    Jobs,
    Number,
    Picture,
    Question,
    Script,
    ScriptAct,
    Step,
    Value,
)
from kafka_edu.instruments.presenter.twice import RUNS, RowWish, Twice, of_run, suffixed
from kafka_edu.supervisor.act_table import ACTS, NUMBERS, PROCESS_ACTS, ZOOKEEPER_KEY, Parameter
from kafka_edu.trace.event import EVENT_TYPES, Kind, Level

TESTS: Final = ("is", "has", "lacks", "above", "below")
#: The keys of [step.load], which are options of the command `load`.
LOAD_KEYS: Final = (
    "topic",
    "rate",
    "acks",
    "keys",
    "record-size",
    "producers",
    "consumers",
    "group",
    "seconds",
)
MAX_CHOICES: Final = 6
STEP_KEYS: Final = (
    "title",
    "say",
    "screen",
    "level",
    "load",
    "job",
    "ask",
    "act",
    "acts_first",
    "hands",
    "show",
    "wait",
    "facts",
    "twice",
    "side_by_side",
)
MAX_BROKERS: Final = 9
MAX_ZOOKEEPERS: Final = 7
#: The keys of [cluster], which are options of the command `cluster up`.
CLUSTER_KEYS: Final = (
    "brokers",
    "props",
    "broker_props",
    "zookeeper",
    "zookeepers",
    "api_level",
    "with_relays",
)
ZOOKEEPERS: Final = ("embedded", "apache")
API_LEVELS: Final = ("2.0", "2.8")
FACTS: Final = "a list of texts and of tables with an 'event'"
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_RIGHT_NUMBER: Final = re.compile(r"[a-z][a-z0-9_]*(-[a-z][a-z0-9_]*)?")
_FINDS: Final = re.compile(
    r"(leader|follower) of .+-\d+|(?:not the )?controller|\d+|\{[a-z][a-z0-9_]*\}"
)
_BOUND: Final = re.compile(r"\{[a-z][a-z0-9_]*\}")
_FINDS_SERVER: Final = re.compile(r"leader|follower|\d+|\{[a-z][a-z0-9_]*\}")


class ScriptError(Exception):
    """The file is not a valid script. The message says file, line, error and remedy on one line."""


def read_script(
    path: Path,
    screens: Collection[str],
    pictures: Mapping[str, Picture] | None = None,
    jobs: Jobs | None = None,
) -> Script:
    """Read and check a script. Raises ScriptError.

    A step may use only the given `screens`, `pictures` and `jobs`.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ScriptError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ScriptError(f"{path}: is not UTF-8 text") from error
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r" \(at line (\d+), column \d+\)", str(error))
        line = int(where[1]) if where else text.count("\n") + 1
        what = str(error).partition(" (at ")[0]
        raise ScriptError(f"{path}:{line}: this is not TOML: {what}") from error
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    reader = _Reader(path, LineIndex(text), screens, pictures or {}, jobs or Jobs())
    return reader.script(document, digest)


class _Table:
    """One table of the TOML file. It records which of its keys were read."""

    def __init__(self, reader: "_Reader", place: Place, values: Mapping[str, object]) -> None:
        self._reader = reader
        self.place = place
        self.values = values

    def fail(self, what: str, key: str = "") -> NoReturn:
        self._reader.fail((*self.place, key) if key else self.place, what)

    def allow(self, *keys: str) -> None:
        """Refuse the table if it has a key that is not in `keys`."""
        for key in self.values:
            if key not in keys:
                near = difflib.get_close_matches(key, keys, 1)
                hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(keys)}"
                self.fail(f"there is no key '{key}': {hint}", key)

    def words(self, key: str, *, needed: bool = False) -> str:
        value = self.values.get(key, "")
        if not isinstance(value, str):
            self.fail(f"'{key}' is a text in quotes", key)
        if needed and not value.strip():
            self.fail(f"'{key}' is missing", key)
        return as_typed_here(_flowing(value))

    def number(self, key: str, most: int) -> int:
        value = self.values.get(key, 0)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
            self.fail(f"'{key}' is a number up to {most}", key)
        return value

    def flag(self, key: str) -> bool:
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            self.fail(f"'{key}' is true or false", key)
        return value

    def table(self, key: str) -> "_Table | None":
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.fail(f"'{key}' is a table", key)
        return _Table(self._reader, (*self.place, key), value)

    def tables(self, key: str) -> "Iterator[_Table]":
        """Yield the tables in a list of tables. A single table counts as a list of one."""
        value = self.values.get(key, [])
        rows = value if isinstance(value, list) else [value]
        for at, row in enumerate(rows):
            place = (*self.place, key, at) if isinstance(value, list) else (*self.place, key)
            if not isinstance(row, dict):
                self._reader.fail(place, f"'{key}' is a table, or a list of tables")
            yield _Table(self._reader, place, row)


class _Reader:
    def __init__(
        self,
        path: Path,
        lines: LineIndex,
        screens: Collection[str],
        pictures: Mapping[str, Picture],
        jobs: Jobs,
    ) -> None:
        self._path = path
        self._lines = lines
        self._screens = screens
        self._pictures = pictures
        self._jobs = jobs
        self._names: set[str] = set()
        """The names that earlier waits and pictures have bound."""
        self._moments: set[str] = set()
        """The subset of these names that stand for the time of an event."""
        self._twice: dict[str, Twice] = {}
        """The groups of steps that run twice, by the name of the group."""

    def fail(self, place: Place, what: str) -> NoReturn:
        raise ScriptError(f"{self._path}:{self._lines.line(place)}: {what}")

    def script(self, document: Mapping[str, object], digest: str) -> Script:
        table = _Table(self, (), document)
        table.allow("title", "step", "end", "cluster", "break", "twice")
        title = table.words("title", needed=True)
        self._twice = {run.name: run for run in self._runs(table)}
        steps = tuple(self._step(step) for step in self._expanded(list(table.tables("step"))))
        if not steps:
            table.fail("the script has no [[step]]")
        return Script(
            title,
            steps,
            self._text(table, "end"),
            digest,
            self._cluster(table),
            self._pictures,
            self._jobs,
            tuple(self._break(one) for one in table.tables("break")),
        )

    def _runs(self, table: _Table) -> "Iterator[Twice]":
        """Yield the groups of steps that run twice, from the tables below [twice]."""
        groups = table.table("twice")
        for name in groups.values if groups is not None else ():
            group = groups.table(name) if groups is not None else None
            if group is None:
                continue
            group.allow("a", "b", "rows")
            runs = [group.table("a"), group.table("b")]
            values = [
                {key: run.words(key, needed=True) for key in run.values}
                for run in runs
                if run is not None
            ]
            if len(values) != 2 or any("label" not in one for one in values):
                group.fail("'a' and 'b' are tables with a 'label', and what differs between them")
            if values[0].keys() != values[1].keys():
                group.fail("'a' and 'b' have the same keys")
            rows = tuple(self._row(row) for row in group.tables("rows"))
            if not rows:
                group.fail("'rows' are tables with 'what' and 'value'", "rows")
            yield Twice(name, (values[0], values[1]), rows)

    def _row(self, row: _Table) -> RowWish:
        row.allow("what", "value", "unit")
        value = row.words("value", needed=True)
        if not _RIGHT_NUMBER.fullmatch(value):
            row.fail("'value' is a bound name, or the difference of two", "value")
        return RowWish(row.words("what", needed=True), value, row.words("unit"))

    def _expanded(self, steps: list[_Table]) -> Iterator[_Table]:
        """Yield the steps in the order in which they run.

        Neighbouring steps of a group that runs twice are yielded twice, once for each run.
        """
        for name, group in itertools.groupby(steps, lambda step: step.words("twice")):
            if not name:
                yield from group
                continue
            together = list(group)
            twice = self._twice.get(name)
            if twice is None:
                together[0].fail(f"there is no table [twice.{name}]", "twice")
            bound = {
                bind
                for step in together
                for wait in step.tables("wait")
                if (names := wait.table("bind")) is not None
                for bind in names.values
            }
            for letter, values in zip(RUNS, twice.values, strict=True):
                for step in together:
                    yield _Table(self, step.place, of_run(step.values, letter, values, bound))

    def _compare(self, table: _Table) -> Comparison | None:
        """Return the comparison of two runs that the step shows, or None."""
        name = table.words("side_by_side")
        if not name:
            return None
        twice = self._twice.get(name)
        if twice is None:
            table.fail(f"there is no table [twice.{name}]", "side_by_side")
        rows = []
        for row in twice.rows:
            numbers = [Number(suffixed(row.value, letter), row.unit) for letter in RUNS]
            for number in numbers:
                for bound in number.right.split("-"):
                    if bound not in self._names:
                        what = f"no step of the group '{name}' binds '{bound[:-2]}'"
                        table.fail(what, "side_by_side")
            rows.append(CompareRow(row.what, (numbers[0], numbers[1])))
        labels = [one["label"] for one in twice.values]
        return Comparison((labels[0], labels[1]), tuple(rows))

    def _break(self, table: _Table) -> Break:
        table.allow("say", "commands")
        commands = table.values.get("commands")
        if not isinstance(commands, list) or not commands:
            table.fail("'commands' is a list of commands, without ./kafka-edu", "commands")
        for command in commands:
            if not isinstance(command, str) or not command.strip():
                table.fail("'commands' is a list of commands, without ./kafka-edu", "commands")
            for what in in_braces(command):
                if what not in (SERVERS, ZOOKEEPER, *self._names) and not _FINDS.fullmatch(what):
                    table.fail(
                        f"'{{{what}}}' is not a role: write one as 'leader of TOPIC-0' or"
                        f" 'controller', {SERVERS}, {ZOOKEEPER}, or a bound name",
                        "commands",
                    )
        return Break(table.words("say", needed=True), tuple(commands))

    def _cluster(self, table: _Table) -> ClusterWish:
        wish = table.table("cluster")
        if wish is None:
            return ClusterWish()
        wish.allow(*CLUSTER_KEYS)
        brokers = wish.number("brokers", MAX_BROKERS) or ClusterWish().brokers
        own = wish.table("broker_props")
        zookeeper = wish.words("zookeeper") or ClusterWish().zookeeper
        if zookeeper not in ZOOKEEPERS:
            wish.fail(f"'zookeeper' is one of {', '.join(ZOOKEEPERS)}", "zookeeper")
        servers = wish.number("zookeepers", MAX_ZOOKEEPERS)
        if servers and zookeeper != "apache":
            wish.fail("'zookeepers' needs zookeeper = \"apache\"", "zookeepers")
        api_level = wish.words("api_level")
        if api_level and api_level not in API_LEVELS:
            wish.fail(f"'api_level' is one of {', '.join(API_LEVELS)}, in quotes", "api_level")
        return ClusterWish(
            brokers,
            self._props(wish.table("props")),
            dict(self._broker_props(own, brokers)) if own is not None else {},
            zookeeper,
            servers or None,
            api_level or None,
            wish.flag("with_relays"),
        )

    def _props(self, props: _Table | None) -> dict[str, str]:
        if props is None:
            return {}
        for key, value in props.values.items():
            if not isinstance(value, str):
                props.fail(f"'{key}' is a text in quotes", key)
        return {key: props.words(key) for key in props.values}

    def _broker_props(self, own: _Table, brokers: int) -> Iterator[tuple[int, dict[str, str]]]:
        for key in own.values:
            if not key.isdecimal() or int(key) >= brokers:
                own.fail(f"'{key}' is not a broker: they are 0 to {brokers - 1}", key)
            yield int(key), self._props(own.table(key))

    def _level(self, table: _Table) -> Level:
        words = table.words("level") or Level.STATE.value
        if words not in [level.value for level in Level]:
            table.fail(f"'level' is one of {', '.join(level.value for level in Level)}", "level")
        return Level(words)

    def _step(self, table: _Table) -> Step:
        table.allow(*STEP_KEYS)
        say = self._text(table, "say", needed=True)
        screen = table.words("screen")
        if screen and screen not in self._screens:
            table.fail(f"there is no screen '{screen}': {', '.join(self._screens)}", "screen")
        load, stop_load = self._load(table)
        job = self._job(table)
        acts = tuple(self._act(act) for act in table.tables("act"))
        hands = self._hands(table, acts)
        ask = table.table("ask")
        question = self._question(ask) if ask is not None else None
        show = self._show(table)
        expectations = tuple(self._expectation(wait) for wait in table.tables("wait"))
        if question is not None and ask is not None:
            question = question._replace(answer=self._text(ask, "answer", needed=True))
            if question.number is not None:
                self._check_number(ask, question.number)
            if (replies := ask.table("replies")) is not None:
                for key in replies.values:
                    self._text(replies, key, needed=True)
        return Step(
            table.words("title", needed=True),
            say,
            screen,
            load,
            stop_load,
            job,
            acts,
            question,
            expectations,
            self._lines.line(table.place),
            show,
            self._acts_first(table, job, acts),
            hands,
            self._level(table),
            self._facts(table),
            self._compare(table),
        )

    def _facts(self, table: _Table) -> tuple[str | FactFilter, ...] | None:
        words = table.values.get("facts")
        if words is None:
            return None
        if not isinstance(words, list):
            table.fail(f"'facts' is {FACTS}", "facts")
        filters: list[str | FactFilter] = []
        for word in words:
            if isinstance(word, dict):
                filters.append(self._fact(_Table(self, (*table.place, "facts"), word)))
                continue
            if not isinstance(word, str) or not word.strip():
                table.fail(f"'facts' is {FACTS}", "facts")
            self._check_names(table, "facts", word)
            filters.append(word)
        return tuple(filters)

    def _fact(self, table: _Table) -> FactFilter:
        table.allow("event", "from", "where")
        event = table.words("event", needed=True)
        self._check_event(table, event)
        if EVENT_TYPES[event].kind is not Kind.FACT:
            table.fail(f"{event} is not a fact, so no wait can see it", "event")
        return FactFilter(event, self._text(table, "from"), tuple(self._conditions(table, event)))

    def _check_event(self, table: _Table, event: str) -> None:
        if event not in EVENT_TYPES:
            near = difflib.get_close_matches(event, EVENT_TYPES, 1)
            hint = f"did you mean {near[0]}?" if near else "docs/events.md lists them"
            table.fail(f"there is no event '{event}': {hint}", "event")

    def _hands(self, table: _Table, acts: tuple[ScriptAct, ...]) -> bool:
        hands = table.flag("hands")
        if hands and (not acts or not table.values.get("wait")):
            table.fail("a step with 'hands' needs an act and a wait that sees it", "hands")
        return hands

    def _acts_first(self, table: _Table, job: str, acts: tuple[ScriptAct, ...]) -> bool:
        acts_first = table.flag("acts_first")
        if acts_first and not (job and acts):
            table.fail("a step with 'acts_first' needs a job and an act", "acts_first")
        return acts_first

    def _job(self, table: _Table) -> str:
        name = table.words("job")
        if name and name not in self._jobs.names:
            known = ", ".join(self._jobs.names) or "none; a chapter has them in jobs.py"
            table.fail(f"there is no job '{name}': {known}", "job")
        return name

    def _show(self, table: _Table) -> str:
        name = table.words("show")
        if name and name not in self._pictures:
            known = ", ".join(self._pictures) or "none; a chapter has them in pictures.py"
            table.fail(f"there is no picture '{name}': {known}", "show")
        self._names.update(self._pictures[name].names if name else ())
        return name

    def _text(self, table: _Table, key: str, *, needed: bool = False) -> str:
        """Return a text of the script. An earlier step must bind each name that is in braces in the
        text.
        """
        words = table.words(key, needed=needed)
        self._check_names(table, key, words)
        return words

    def _check_names(self, table: _Table, key: str, words: str) -> None:
        try:
            parts = [part for part in string.Formatter().parse(words) if part[1] is not None]
        except ValueError as error:
            table.fail(f"'{key}': {error}; write {{{{ and }}}} for braces", key)
        for _, name, spec, _ in parts:
            if spec not in ("", ","):
                table.fail(f"'{{{name}:{spec}}}' is unknown: write {{{name}}} or {{{name}:,}}", key)
            if name not in self._names:
                known = ", ".join(sorted(self._names)) or "none yet"
                table.fail(f"nothing before this binds '{{{name}}}' (bound: {known})", key)

    def _load(self, table: _Table) -> tuple[tuple[str, ...] | None, bool]:
        value = table.values.get("load")
        if value is None:
            return None, False
        if value == "stop":
            return None, True
        if value == "start":
            return (), False
        if not isinstance(value, dict):
            table.fail('\'load\' is "start", "stop", or a table of its options', "load")
        options = _Table(self, (*table.place, "load"), value)
        options.allow(*LOAD_KEYS)
        words: list[str] = []
        for key, option in value.items():
            if not isinstance(option, str | int) or isinstance(option, bool):
                options.fail(f"'{key}' is a text or a number", key)
            words += [f"--{key}", str(option)]
        return tuple(words), False

    def _act(self, table: _Table) -> ScriptAct:
        name = table.words("name", needed=True)
        act = ACTS.get(name)
        if act is None:
            near = difflib.get_close_matches(name, ACTS, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(ACTS)}"
            table.fail(f"there is no act '{name}': {hint}", "name")
        on_server = act in PROCESS_ACTS and ZOOKEEPER_KEY in table.values
        named = [one for one in act.parameters if one is not Parameter.BROKER or not on_server]
        table.allow("name", *named, *([ZOOKEEPER_KEY] if on_server else []))
        values: dict[str, Value] = {}
        if on_server:
            values[ZOOKEEPER_KEY] = self._server(table)
        for parameter in named:
            value = table.values.get(parameter.value)
            if not isinstance(value, str | int):
                table.fail(f"act '{name}' needs '{parameter.value}'", "name")
            if isinstance(value, str):
                self._check_names(table, parameter.value, value)
                self._check_target(table, parameter, value)
            values[parameter.value] = value
        return ScriptAct(name, values, self._lines.line(table.place))

    def _server(self, table: _Table) -> Value:
        """Return the id or the role of the ZooKeeper server that an act is for."""
        value = table.values[ZOOKEEPER_KEY]
        if isinstance(value, int):
            return value
        if not isinstance(value, str) or not _FINDS_SERVER.fullmatch(value):
            table.fail(
                f"'{ZOOKEEPER_KEY}' is a number, 'leader', 'follower', or a bound name in braces",
                ZOOKEEPER_KEY,
            )
        self._check_names(table, ZOOKEEPER_KEY, value)
        return value

    def _check_target(self, table: _Table, parameter: Parameter, value: str) -> None:
        if parameter in NUMBERS and not _FINDS.fullmatch(value):
            table.fail(
                f"'{parameter.value}' is a number, 'leader of TOPIC-0', 'follower of TOPIC-0',"
                " 'controller', 'not the controller', or a bound name in braces",
                parameter.value,
            )

    def _question(self, table: _Table) -> Question:
        table.allow("question", "choices", "right", "answer", "replies", "number")
        choices = table.values.get("choices", [])
        if not isinstance(choices, list) or not all(isinstance(each, str) for each in choices):
            table.fail("'choices' is a list of texts", "choices")
        if len(choices) == 1 or len(choices) > MAX_CHOICES:
            table.fail(f"'choices' holds 2 to {MAX_CHOICES} texts, or is left out", "choices")
        return Question(
            self._text(table, "question", needed=True),
            tuple(choices),
            table.number("right", len(choices)),
            table.words("answer", needed=True),
            self._replies(table, choices),
            self._number(table, choices),
        )

    def _number(self, table: _Table, choices: Sequence[str]) -> Number | None:
        """Return the number that the learner must type, or None if the question has no number."""
        wanted = table.table("number")
        if wanted is None:
            return None
        wanted.allow("right", "unit", "within")
        if choices:
            table.fail("a question has 'choices' or a 'number', not both", "number")
        right = wanted.words("right", needed=True)
        if not _RIGHT_NUMBER.fullmatch(right):
            wanted.fail(
                "'right' is a bound name, or the difference of two: heir_at-killed_at", "right"
            )
        within = wanted.values.get("within", 1)
        if isinstance(within, bool) or not isinstance(within, int | float) or within < 1:
            wanted.fail("'within' is a number of times, such as 2; 1 wants the number", "within")
        return Number(right, wanted.words("unit"), float(within))

    def _check_number(self, ask: _Table, number: Number) -> None:
        """Check that the names for the right number are bound by this step or an earlier one."""
        for name in number.right.split("-"):
            if name not in self._names:
                ask.fail(f"no wait and no picture up to this step binds '{name}'", "number")

    def _replies(self, table: _Table, choices: Sequence[str]) -> tuple[str, ...]:
        """Return a reply for each choice.

        If the script has no reply for a choice, its reply is empty. For example, `replies = { 1 =
        "…" }` has only a reply for choice 1.
        """
        replies = table.table("replies")
        if replies is None:
            return ()
        for key in replies.values:
            if not key.isdecimal() or not 1 <= int(key) <= len(choices):
                replies.fail(f"'{key}' is not a choice: they are 1 to {len(choices)}", key)
            if int(key) == table.values.get("right"):
                replies.fail(f"choice {key} is right: 'answer' is its reply", key)
        return tuple(replies.words(str(at)) for at in range(1, len(choices) + 1))

    def _expectation(self, table: _Table) -> Expectation:
        table.allow("look", "event", "from", "where", "after", "bind", "text")
        look = self._text(table, "look", needed=True)
        event, text = table.words("event"), self._text(table, "text")
        if bool(event) == bool(text):
            table.fail("a wait has either an 'event' or a 'text'")
        if text:
            for key in ("from", "where", "after", "bind"):
                if key in table.values:
                    table.fail(f"'{key}' belongs to an event", key)
            return Expectation(look, text=text)
        self._check_event(table, event)
        where = tuple(self._conditions(table, event))
        after = table.words("after")
        if after and after not in self._moments:
            known = ", ".join(sorted(self._moments)) or "none yet"
            table.fail(f"'after' is a name that '{MOMENT}' was bound to (bound: {known})", "after")
        return Expectation(
            look,
            event,
            self._text(table, "from"),
            where,
            self._bindings(table, event),
            after=after,
        )

    def _check_field(self, table: _Table, event: str, field: str) -> None:
        kind: object = EVENT_TYPES[event].cls
        for name in field.split("."):
            fields = _fields(kind)
            if name not in fields:
                known = ", ".join(fields) or "none within it"
                table.fail(f"{event} has no field '{field}', only: {known}", field)
            kind = fields[name]

    def _conditions(self, table: _Table, event: str) -> Iterator[Condition]:
        where = table.table("where")
        if where is None:
            return
        for field, value in _flat(where.values, EVENT_TYPES[event].cls):
            self._check_field(where, event, field)
            if isinstance(value, dict):
                for test, wanted in value.items():
                    yield self._condition(where, field, test, wanted)
            else:
                yield self._condition(where, field, "is", value)

    def _condition(self, where: _Table, field: str, test: str, value: object) -> Condition:
        if test not in TESTS:
            where.fail(f"'{field}' knows no test '{test}': {', '.join(TESTS)}", field)
        if not isinstance(value, str | int):
            where.fail(f"'{field}' is compared with a text, a number, true or false", field)
        named = isinstance(value, str) and _BOUND.fullmatch(value) is not None
        if test in ("above", "below") and (type(value) is not int and not named):
            where.fail(f"'{field}': '{test}' needs a number, or a bound name in braces", field)
        if isinstance(value, str):
            self._check_names(where, field, value)
        return Condition(field, test, value)

    def _bindings(self, table: _Table, event: str) -> dict[str, str]:
        bind = table.table("bind")
        if bind is None:
            return {}
        for name in bind.values:
            if not _NAME.fullmatch(name):
                bind.fail(f"'{name}' is not a name: letters, digits and _", name)
            field = bind.words(name, needed=True)
            if field not in (MOMENT, SENDER):
                self._check_field(bind, event, field)
            self._names.add(name)
            if field == MOMENT:
                self._moments.add(name)
        return {name: bind.words(name) for name in bind.values}


def _flowing(text: str) -> str:
    """Join the lines of each paragraph into one line. Empty and indented lines stay as they are."""
    paragraphs = re.split(r"\n\s*\n|\n(?=[ \t])", text.strip())
    return "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _fields(kind: object) -> dict[str, object]:
    """Return the names and types of the fields of an event, or of a value inside an event."""
    return get_type_hints(kind) if isinstance(kind, type) and hasattr(kind, "_fields") else {}


def _flat(
    values: Mapping[str, object], kind: object, before: str = ""
) -> Iterator[tuple[str, object]]:
    """Yield all fields with their values, and nested fields with dotted names.

    A table of comparisons (`is`, `above` …) stays one value.
    """
    for key, value in values.items():
        inner = _fields(kind).get(key)
        if isinstance(value, dict) and _fields(inner):
            yield from _flat(value, inner, f"{before}{key}.")
        else:
            yield before + key, value
