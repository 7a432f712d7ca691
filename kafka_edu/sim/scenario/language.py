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

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.sim.scenario.acts import VERBS, Act, parse_act
from kafka_edu.sim.seeded_random import SeededRandom
from kafka_edu.sim.times import parse_ms, show_ms

LATENCY: Final = "sim.latency.ms"
"""A setting of the simulation, and not of the brokers: the longest time that data takes on a link
that is not slow. The shortest one is a tenth of it.
"""


class ScenarioError(Exception):
    """A scenario file that cannot run: the file, the line, and what to write instead."""


class TopicLine(NamedTuple):
    name: str
    partitions: int
    replication_factor: int
    configs: tuple[tuple[str, str], ...] = ()


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

    def with_acts(self, seed: int, acts: Sequence[Act]) -> "Scenario":
        """Return the scenario with a fixed seed and these acts in place of faults by chance. The
        settings that this seed draws are fixed too.
        """
        return self._replace(
            faults=Faults(),
            acts=tuple(acts),
            seed=seed,
            digests=(),
            properties=self.properties_for(seed),
            variations=(),
        )

    def properties_for(self, seed: int) -> tuple[tuple[str, str], ...]:
        """Return the settings of the brokers, with those that the seed draws."""
        chance = SeededRandom(f"{seed}/settings")
        drawn = [(key, chance.choice(values)) for key, values in self.variations]
        return (*self.properties, *drawn)

    def digest_for(self, version: str) -> str | None:
        """Return the digest that the run must have on this version of Python. Without one of its
        own, a version has the first digest of the file.
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


_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "producer": frozenset({"topic", "rate", "acks", "idempotent", "keys", "deletes"}),
    "consumer": frozenset({"topic"}),
    "group": frozenset({"topic", "members"}),
    "transactions": frozenset({"topic", "rate", "instances"}),
}
_DEFAULTS: Final = ClientLine("", "", "")


def _client_text(client: ClientLine) -> str:
    words = [f"> {client.kind} {client.name} topic={client.topic}"]
    for option in ("rate", "acks", "keys", "deletes", "members", "instances"):
        value = getattr(client, option)
        if option in _OPTIONS[client.kind] and value != getattr(_DEFAULTS, option):
            words.append(f"{option}={value}")
    if not client.idempotent:
        words.append("idempotent=false")
    return " ".join(words)


class _Reader:
    """Collects what the lines of one file say."""

    def __init__(self, name: str) -> None:
        self.scenario = Scenario(name, (), 0, (), (), (), Faults(), 0, 0)
        self.commands: dict[str, Callable[[list[str], dict[str, str]], Scenario]] = {
            "cluster": self._cluster,
            "vary": self._vary,
            "topic": self._topic,
            **dict.fromkeys(_OPTIONS, self._client),
            "faults": self._faults,
            "seed": self._seed,
            "at": self._act,
            "digest": self._digest,
            "run": lambda words, _: self.scenario._replace(run_ms=parse_ms(_one(words, "run 10s"))),
            "settle": lambda words, _: self.scenario._replace(
                settle_ms=parse_ms(_one(words, "settle 8s"))
            ),
        }
        self._command = ""

    def command(self, line: str) -> None:
        """Take one command. Raises ValueError with what to write."""
        name, *words = line.split()
        take = self.commands.get(name)
        if take is None:
            raise ValueError(f"there is no command {name!r}; there are {', '.join(self.commands)}")
        if name != "cluster" and not self.scenario.brokers:
            raise ValueError("the first command must be the cluster: cluster brokers=3")
        self._command = name
        options = dict(word.split("=", 1) for word in words if "=" in word)
        self.scenario = take([word for word in words if "=" not in word], options)

    def _cluster(self, words: list[str], options: dict[str, str]) -> Scenario:
        _none(words, "cluster brokers=3 min.insync.replicas=2")
        _check_latency([options[LATENCY]] if LATENCY in options else [])
        brokers = _number(options.pop("brokers", "3"), "brokers", 1, 9)
        return self.scenario._replace(brokers=brokers, properties=tuple(options.items()))

    def _vary(self, words: list[str], options: dict[str, str]) -> Scenario:
        _none(words, "vary replica.lag.time.max.ms=600|2000")
        varied = {key: tuple(values.split("|")) for key, values in options.items()}
        for key, values in varied.items():
            if len(values) < 2 or "" in values:
                raise ValueError(f"{key} needs two values or more: vary {key}=1|100")
            _check_latency(values if key == LATENCY else ())
            if key in dict(self.scenario.properties):
                raise ValueError(f"{key} is fixed in the line of the cluster: take it out there")
        return self.scenario._replace(variations=(*self.scenario.variations, *varied.items()))

    def _topic(self, words: list[str], options: dict[str, str]) -> Scenario:
        name = _one(words, "topic t partitions=4 rf=3")
        most = self.scenario.brokers
        topic = TopicLine(
            name,
            _number(options.pop("partitions", "1"), "partitions", 1, 100),
            _number(options.pop("rf", str(min(3, most))), "rf", 1, most),
            tuple(options.items()),
        )
        return self.scenario._replace(topics=(*self.scenario.topics, topic))

    def _client(self, words: list[str], options: dict[str, str]) -> Scenario:
        kind = self._command
        name = _one(words, f"{kind} name topic=t")
        unknown = sorted(set(options) - _OPTIONS[kind])
        if unknown:
            raise ValueError(
                f"{kind} has no option {unknown[0]!r}; it has {', '.join(sorted(_OPTIONS[kind]))}"
            )
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
        return self.scenario._replace(clients=(*self.scenario.clients, client))

    def _faults(self, words: list[str], options: dict[str, str]) -> Scenario:
        for word in words:
            if word not in VERBS:
                raise ValueError(f"there is no fault {word!r}; there are {', '.join(VERBS)}")
        low, dots, high = options.get("every", "400ms..2.5s").partition("..")
        every_ms = parse_ms(low), parse_ms(high if dots else low)
        if not 0 < every_ms[0] <= every_ms[1]:
            raise ValueError("every= is a range such as every=400ms..2.5s")
        return self.scenario._replace(faults=Faults(tuple(words), every_ms))

    def _seed(self, words: list[str], _: dict[str, str]) -> Scenario:
        return self.scenario._replace(seed=_number(_one(words, "seed 17"), "seed", 0, 2**63))

    def _digest(self, words: list[str], _: dict[str, str]) -> Scenario:
        match words:
            case [version, digest]:
                return self.scenario._replace(digests=(*self.scenario.digests, (version, digest)))
        raise ValueError("a digest has a version of Python: digest 3.11 4f1a…")

    def _act(self, words: list[str], _: dict[str, str]) -> Scenario:
        act = parse_act(["at", *words])
        clients = act.verb in VERBS and VERBS[act.verb].of_clients
        kind = "client" if clients else "broker"
        most = sum(map(processes_of, self.scenario.clients)) if clients else self.scenario.brokers
        for number in act.who:
            if not 1 <= number <= most:
                raise ValueError(f"there is no {kind} {number}: they are 1 to {most}")
        return self.scenario._replace(acts=(*self.scenario.acts, act))


def parse(text: str, name: str) -> Scenario:
    """Read a scenario. Raises ScenarioError with the line and what to write instead."""
    reader, about = _Reader(name), list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith(">"):
            if not reader.scenario.brokers and line.strip():
                about.append(line.removeprefix("#").strip())
            continue
        try:
            reader.command(line[1:].partition("  #")[0].strip() or "nothing")
        except ValueError as error:
            raise ScenarioError(f"{name}, line {number}: {line}\n  {error}") from error
    found = reader.scenario._replace(about=tuple(about))
    for missing, example in (
        (not found.brokers, "> cluster brokers=3"),
        (not found.topics, "> topic t partitions=4 rf=3"),
        (not found.run_ms, "> run 10s"),
        (not found.settle_ms, "> settle 8s"),
    ):
        if missing:
            raise ScenarioError(f"{name}: a line is missing. Write: {example}")
    return found


def read(path: Path) -> Scenario:
    """Read a scenario file. Raises ScenarioError."""
    try:
        return parse(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise ScenarioError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"cannot read {path}: it is not a text in UTF-8 ({error})") from error


def _check_latency(values: Iterable[str]) -> None:
    for value in values:
        if not value.isdigit() or not 0 < int(value) <= 1_000:
            raise ValueError(f"{LATENCY}={value} is not a whole number from 1 to 1000")


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
