"""The language of scenario files: a few lines that say what a run is (docs/simulator.md).

    # Replication under kills: no acked record may be lost.
    > cluster brokers=3 min.insync.replicas=2
    > topic t partitions=4 rf=3
    > producer p topic=t rate=20
    > consumer c topic=t
    > faults kill pause cut every=500ms..2s
    > run 10s
    > settle 8s

A line that begins with `> ` is a command, as in the transcripts of `transcript.py`. All other lines
are comments for the reader. `faults` draws a schedule of acts for each seed. A file that `sim
shrink` wrote has the acts themselves instead, and the seed:

    > seed 17
    > at 3.412s kill 2 for 4.1s
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.clients.admin.topic_calls import usual_replicas
from kafka_edu.sim.learner_parts import InstalledPart, simulated_seams
from kafka_edu.sim.scenario.acts import ACTS, VERBS, Act, parse_act
from kafka_edu.sim.scenario.settings import CLUSTER, check_broker_settings, check_topic
from kafka_edu.sim.seeded_random import SeededRandom
from kafka_edu.sim.times import parse_ms, show_ms


class ScenarioError(Exception):
    """A scenario file that cannot run: the file, the line, and what to write instead."""


class TopicLine(NamedTuple):
    name: str
    partitions: int
    replication_factor: int
    configs: tuple[tuple[str, str], ...] = ()

    @property
    def is_compacted(self) -> bool:
        return "compact" in dict(self.configs).get("cleanup.policy", "")


class ClientLine(NamedTuple):
    """One client: a producer, a consumer, a group, or a producer of transactions."""

    kind: str
    name: str
    topic: str
    rate: int = 20
    """Records a second."""
    acks: str = "all"
    idempotent: bool = True
    keys: int = 0
    """How many different keys its records have. 0: none has a key. Some keys are much more frequent
    than others.
    """
    deletes: int = 0
    """How many of 100 records delete their key: they are tombstones."""
    members: int = 2
    """Of a group: how many consumers it has."""
    instances: int = 1
    """How many processes use the same transactional id. Each one fences the one before it."""


def process_names(client: ClientLine) -> list[str]:
    """Return the names of a client's processes: a group has one for each member, and a producer of
    transactions one for each instance.
    """
    if client.kind == "group":
        return [f"{client.name}-{number}" for number in range(1, client.members + 1)]
    if client.instances > 1:
        return [f"{client.name}{number}" for number in range(1, client.instances + 1)]
    return [client.name]


def processes_of(client: ClientLine) -> int:
    """Return how many processes a client has."""
    return len(process_names(client))


class Faults(NamedTuple):
    verbs: tuple[str, ...] = ()
    every_ms: tuple[int, int] = (400, 2_500)


class Scenario(NamedTuple):
    """A scenario, as its file says it."""

    name: str
    about: tuple[str, ...]
    """The comments at the top of the file."""
    brokers: int
    properties: tuple[tuple[str, str], ...]
    topics: tuple[TopicLine, ...]
    clients: tuple[ClientLine, ...]
    faults: Faults
    run_ms: int
    settle_ms: int
    acts: tuple[Act, ...] = ()
    """The acts that the file names. Not empty in a file that `sim shrink` wrote."""
    seed: int | None = None
    digests: tuple[tuple[str, str], ...] = ()
    """The digest that the run must have, by minor version of Python."""
    variations: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Settings of the brokers, with the values from which each seed draws one."""
    learners: tuple[InstalledPart, ...] = ()
    """Learners' parts that serve in the brokers."""
    code: str = ""
    """The version of the code that wrote the file and its digests, if the file says it."""

    @property
    def broker_ids(self) -> range:
        """The ids of the brokers. They begin at 1, or at 0 as in a real cluster."""
        first = 0 if dict(self.properties).get(CLUSTER) == "real" else 1
        return range(first, first + self.brokers)

    @property
    def processes(self) -> int:
        """The number of the processes of all clients."""
        return sum(map(processes_of, self.clients))

    def with_acts(self, seed: int, acts: Sequence[Act]) -> "Scenario":
        """Return the scenario with a fixed seed, and with `acts` instead of random faults. The
        settings that the seed chooses are fixed too.
        """
        return self._replace(
            faults=Faults(),
            acts=tuple(acts),
            seed=seed,
            digests=(),
            code="",
            properties=self.properties_for(seed),
            variations=(),
        )

    def properties_for(self, seed: int) -> tuple[tuple[str, str], ...]:
        """Return the settings of the brokers, including the settings that the seed chooses."""
        chance = SeededRandom(f"{seed}/settings")
        drawn = [(key, chance.choice(values)) for key, values in self.variations]
        return (*self.properties, *drawn)

    def digest_for(self, version: str) -> str | None:
        """Return the digest that the run must have on this version of Python. If the file has no
        digest for this version, return the file's first digest.
        """
        first = next((digest for _, digest in self.digests), None)
        return dict(self.digests).get(version, first)

    def text(self) -> str:
        """Return the scenario as a file. `parse` reads it back."""
        lines = [f"# {line}" if line else "#" for line in self.about]
        settings = "".join(f" {key}={value}" for key, value in self.properties)
        lines.append(f"> cluster brokers={self.brokers}{settings}")
        if self.variations:
            varied = (f"{key}={'|'.join(values)}" for key, values in self.variations)
            lines.append(f"> vary {' '.join(varied)}")
        lines += map(_learner_text, self.learners)
        for topic in self.topics:
            configs = "".join(f" {key}={value}" for key, value in topic.configs)
            lines.append(
                f"> topic {topic.name} partitions={topic.partitions}"
                f" rf={topic.replication_factor}{configs}"
            )
        lines += [_client_text(client) for client in self.clients]
        if self.faults.verbs:
            low, high = self.faults.every_ms
            lines.append(
                f"> faults {' '.join(self.faults.verbs)} every={show_ms(low)}..{show_ms(high)}"
            )
        if self.seed is not None:
            lines.append(f"> seed {self.seed}")
        lines += [f"> {act}" for act in self.acts]
        lines += [f"> run {show_ms(self.run_ms)}", f"> settle {show_ms(self.settle_ms)}"]
        return "\n".join(lines) + "\n"


_CLIENT_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "producer": frozenset({"topic", "rate", "acks", "idempotent", "keys", "deletes"}),
    "consumer": frozenset({"topic"}),
    "group": frozenset({"topic", "members"}),
    "transactions": frozenset({"topic", "rate", "instances"}),
}
_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    **_CLIENT_OPTIONS,
    "faults": frozenset({"every"}),
    **dict.fromkeys(("seed", "digest", "code", "run", "settle"), frozenset[str]()),
}
"""The options that a command has. The commands that are not here have settings instead, and each
kind of act has its own options (`parse_act`).
"""
_ONCE: Final = frozenset({"cluster", "faults", "seed", "code", "run", "settle"})
"""The commands that a scenario may have only once."""
_DEFAULTS: Final = ClientLine("", "", "")


def _client_text(client: ClientLine) -> str:
    words = [f"> {client.kind} {client.name} topic={client.topic}"]
    for option in ("rate", "acks", "keys", "deletes", "members", "instances"):
        value = getattr(client, option)
        if option in _CLIENT_OPTIONS[client.kind] and value != getattr(_DEFAULTS, option):
            words.append(f"{option}={value}")
    if not client.idempotent:
        words.append("idempotent=false")
    return " ".join(words)


def _learner_text(part: InstalledPart) -> str:
    brokers = f" brokers={','.join(map(str, part.brokers))}" if part.brokers else ""
    file = str(part.file).replace("%", "%25").replace(" ", "%20")
    return f"> learner {part.exercise} file={file}{brokers}"


class _Reader:
    """Collects what the lines of one file say."""

    def __init__(self, name: str) -> None:
        self.scenario = Scenario(name, (), 0, (), (), (), Faults(), 0, 0)
        self.commands: dict[str, Callable[[list[str], dict[str, str]], Scenario]] = {
            "cluster": self._cluster,
            "vary": self._vary,
            "learner": self._learner,
            "topic": self._topic,
            **dict.fromkeys(_CLIENT_OPTIONS, self._client),
            "faults": self._faults,
            "seed": self._seed,
            "at": self._act,
            "digest": self._digest,
            "code": lambda words, _: self.scenario._replace(code=_one(words, "code 27b1…")),
            "run": lambda words, _: self.scenario._replace(run_ms=_time(words, "run 10s")),
            "settle": lambda words, _: self.scenario._replace(settle_ms=_time(words, "settle 8s")),
        }
        self._command = ""
        self._place = ""
        self._seen: set[str] = set()
        self.at_end: list[tuple[str, Callable[[Scenario], None]]] = []
        """Checks for which the whole scenario must be known, each with the place of its line."""

    def command(self, line: str, place: str) -> None:
        """Read one command. `place` is its file and line. Raises ValueError with a text that says
        what to write instead.
        """
        name, *words = line.split()
        take = self.commands.get(name)
        if take is None:
            raise ValueError(f"there is no command {name!r}; there are {', '.join(self.commands)}")
        if name != "cluster" and not self.scenario.brokers:
            raise ValueError("the first command must be the cluster: cluster brokers=3")
        if name in self._seen & _ONCE:
            raise ValueError(f"a second line {name!r}: a scenario has only one, so take one out")
        self._command, self._place = name, place
        self._seen.add(name)
        options = dict(word.split("=", 1) for word in words if "=" in word)
        unknown = sorted(set(options) - _OPTIONS.get(name, frozenset(options)))
        if unknown:
            known = ", ".join(sorted(_OPTIONS[name])) or "none"
            raise ValueError(f"{name} has no option {unknown[0]!r}; it has {known}")
        self.scenario = take([word for word in words if "=" not in word], options)

    def _cluster(self, words: list[str], options: dict[str, str]) -> Scenario:
        _none(words, "cluster brokers=3 min.insync.replicas=2")
        brokers = _number(options.pop("brokers", "3"), "brokers", 1, 9)
        check_broker_settings(options)
        return self.scenario._replace(brokers=brokers, properties=tuple(options.items()))

    def _vary(self, words: list[str], options: dict[str, str]) -> Scenario:
        _none(words, "vary replica.lag.time.max.ms=600|2000")
        varied = {key: tuple(values.split("|")) for key, values in options.items()}
        for key, values in varied.items():
            if len(values) < 2 or "" in values:
                raise ValueError(f"{key} needs two values or more: vary {key}=1|100")
            if key in dict(self.scenario.properties):
                raise ValueError(f"{key} is fixed in the line of the cluster: take it out there")
            for value in values:
                check_broker_settings({**dict(self.scenario.properties), key: value})
        return self.scenario._replace(variations=(*self.scenario.variations, *varied.items()))

    def _learner(self, words: list[str], options: dict[str, str]) -> Scenario:
        exercise = _one(words, "learner 02-1 file=/home/me/timing_wheel.py")
        file = options.get("file", "").replace("%20", " ").replace("%25", "%")
        if not file:
            raise ValueError(f"say which file: learner {exercise} file=/home/me/timing_wheel.py")
        numbers = filter(None, options.get("brokers", "").split(","))
        ids = self.scenario.broker_ids
        brokers = [_number(one, "brokers", ids[0], ids[-1]) for one in numbers]
        part = learner_part(exercise, file, brokers)
        return self.scenario._replace(learners=(*self.scenario.learners, part))

    def _topic(self, words: list[str], options: dict[str, str]) -> Scenario:
        name = _one(words, "topic t partitions=4 rf=3")
        most = self.scenario.brokers
        topic = TopicLine(
            name,
            _number(options.pop("partitions", "1"), "partitions", 1, 100),
            _number(options.pop("rf", str(usual_replicas(most))), "rf", 1, most),
            tuple(options.items()),
        )
        check_topic(name, options, {one.name for one in self.scenario.topics})
        return self.scenario._replace(topics=(*self.scenario.topics, topic))

    def _client(self, words: list[str], options: dict[str, str]) -> Scenario:
        kind = self._command
        name = _one(words, f"{kind} name topic=t")
        topic = options.get("topic", "")
        if topic and topic not in {one.name for one in self.scenario.topics}:
            raise ValueError(
                f"no topic {topic!r} stands above this line: write"
                f" > topic {topic} partitions=4 rf=3"
            )
        if "topic" not in options:
            raise ValueError(f"say which topic: {kind} {name} topic=t")
        if any(client.name == name for client in self.scenario.clients):
            raise ValueError(f"two clients have the name {name!r}: choose another one")
        acks = options.get("acks", "all")
        if acks not in ("all", "1", "0"):
            raise ValueError(f"acks={acks} is not all, 1 or 0")
        idempotent = options.get("idempotent", "true" if acks == "all" else "false")
        if idempotent not in ("true", "false") or (idempotent == "true" and acks != "all"):
            raise ValueError("idempotent is true or false, and only with acks=all it can be true")
        client = ClientLine(
            kind,
            name,
            options["topic"],
            _number(options.get("rate", "20"), "rate", 1, 1_000),
            acks,
            idempotent == "true",
            _number(options.get("keys", "0"), "keys", 0, 1_000),
            _number(options.get("deletes", "0"), "deletes", 0, 100),
            _number(options.get("members", "2"), "members", 1, 9),
            _number(options.get("instances", "1"), "instances", 1, 9),
        )
        self._check_keys(client)
        return self.scenario._replace(clients=(*self.scenario.clients, client))

    def _check_keys(self, client: ClientLine) -> None:
        """Raise ValueError if a compacted topic would refuse all records of the client."""
        topic = next(one for one in self.scenario.topics if one.name == client.topic)
        sends = client.kind in ("producer", "transactions")
        if sends and not client.keys and topic.is_compacted:
            needs = "keys=12" if client.kind == "producer" else "a producer with keys=12 instead"
            raise ValueError(
                f"{topic.name} is compacted, so it refuses records without a key: write {needs}"
            )

    def _faults(self, words: list[str], options: dict[str, str]) -> Scenario:
        for word in words:
            if word not in VERBS:
                raise ValueError(f"there is no fault {word!r}; there are {', '.join(VERBS)}")
        low, dots, high = options.get("every", "400ms..2.5s").partition("..")
        every_ms = parse_ms(low), parse_ms(high if dots else low)
        if not 0 < every_ms[0] <= every_ms[1]:
            raise ValueError("every= is a range such as every=400ms..2.5s")
        self.at_end.append((self._place, _check_faults))
        return self.scenario._replace(faults=Faults(tuple(words), every_ms))

    def _seed(self, words: list[str], _: dict[str, str]) -> Scenario:
        return self.scenario._replace(seed=_number(_one(words, "seed 17"), "seed", 0, 2**63))

    def _digest(self, words: list[str], _: dict[str, str]) -> Scenario:
        match words:
            case [version, digest]:
                return self.scenario._replace(digests=(*self.scenario.digests, (version, digest)))
        raise ValueError("a digest has a version of Python: digest 3.11 4f1a…")

    def _act(self, words: list[str], options: dict[str, str]) -> Scenario:
        act = parse_act(["at", *words, *(f"{key}={value}" for key, value in options.items())])
        clients = act.verb in ACTS and ACTS[act.verb].of_clients
        kind = "client" if clients else "broker"
        named = range(1, self.scenario.processes + 1)
        for number in act.who:
            known = named if clients else self.scenario.broker_ids
            if number not in known:
                raise ValueError(
                    f"there is no {kind} {number}: they are {known.start} to {known.stop - 1}"
                )
        self.at_end.append((self._place, lambda whole: _check_time(act, whole)))
        return self.scenario._replace(acts=(*self.scenario.acts, act))


def learner_part(exercise: str, file: str, brokers: Sequence[int] = ()) -> InstalledPart:
    """Return a learner's part for simulated brokers. Raises ValueError if there is no such part, or
    no such file.
    """
    if exercise not in simulated_seams():
        raise ValueError(
            f"no part of a simulated broker belongs to exercise {exercise!r}; the parts are those"
            f" of {', '.join(simulated_seams())}"
        )
    path = Path(file).expanduser().absolute()
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    return InstalledPart(exercise, path, tuple(sorted(set(brokers))))


def parse(text: str, name: str) -> Scenario:
    """Read a scenario. Raises ScenarioError with the line and what to write instead."""
    reader, about = _Reader(name), list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith(">"):
            if not reader.scenario.brokers and line.strip():
                about.append(line.removeprefix("#").strip())
            continue
        place = f"{name}, line {number}: {line}"
        with _named(place):
            reader.command(line[1:].partition("  #")[0].strip() or "nothing", place)
    found = reader.scenario._replace(about=tuple(about))
    for missing, example in (
        (not found.brokers, "> cluster brokers=3"),
        (not found.run_ms, "> run 10s"),
        (not found.settle_ms, "> settle 8s"),
    ):
        if missing:
            raise ScenarioError(f"{name}: a line is missing. Write: {example}")
    for place, check in reader.at_end:
        with _named(place):
            check(found)
    return found


@contextmanager
def _named(place: str) -> Iterator[None]:
    """Name the line in which a ValueError was found."""
    try:
        yield
    except ValueError as error:
        raise ScenarioError(f"{place}\n  {error}") from error


def read(path: Path) -> Scenario:
    """Read a scenario file. Raises ScenarioError."""
    try:
        return parse(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise ScenarioError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"cannot read {path}: it is not a text in UTF-8 ({error})") from error


def _check_faults(scenario: Scenario) -> None:
    """Raise ValueError if the scenario has too few brokers or clients for one of its faults."""
    for name in scenario.faults.verbs:
        verb = VERBS[name]
        there = scenario.processes if verb.of_clients else scenario.brokers
        if verb.takes > there:
            kind = "clients" if verb.of_clients else "brokers"
            raise ValueError(
                f"the fault {name} takes {verb.takes} of the {kind}, and the scenario has {there}:"
                f" add {kind}, or take {name} out"
            )


def _check_time(act: Act, scenario: Scenario) -> None:
    if act.at_ms >= scenario.run_ms:
        raise ValueError(
            f"the run ends at {show_ms(scenario.run_ms)}, so {act.verb} would never begin: write an"
            " earlier time, or a longer `> run`"
        )


def _time(words: list[str], example: str) -> int:
    found = parse_ms(_one(words, example))
    if not found:
        raise ValueError(f"0 is too short: {example}")
    return found


def _one(words: list[str], example: str) -> str:
    if len(words) != 1:
        raise ValueError(f"one name or number belongs here: {example}")
    return words[0]


def _none(words: list[str], example: str) -> None:
    if words:
        raise ValueError(f"{words[0]!r} is no option: {example}")


def _number(text: str, what: str, low: int, high: int) -> int:
    if not text.isdigit() or not low <= int(text) <= high:
        raise ValueError(f"{what}={text} is not a whole number from {low} to {high}")
    return int(text)
