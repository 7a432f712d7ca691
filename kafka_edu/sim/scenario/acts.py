"""The acts of a scenario: what is done to the simulated cluster, when, and for how long.

An act is one line, and complete in itself: `at 3.412s kill 2 for 4.1s` also starts the broker
again. So a schedule can still be played after some of its acts are removed. This makes it possible
to shrink a schedule (the models are Hypothesis, and the schedules of Jepsen and FoundationDB).

Without `for`, an act lasts until another act ends it (`start 2`, `resume 2`, `heal 1 2`), or until
the end of the run. Acts that a user makes by hand have no `for`.

An act that is not possible at its moment does nothing. For example, a broker that is down cannot be
paused.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.sim.scenario.admin_acts import Asks, act_on_controller, act_on_topic
from kafka_edu.sim.seeded_random import SeededRandom
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.sim_load import SimLoad, load_spec
from kafka_edu.sim.sim_loop import SimProcess
from kafka_edu.sim.slow_disk import QUICK
from kafka_edu.sim.times import parse_ms, show_ms

Undo = Callable[[], None]
NOTHING_TO_UNDO: Final[Undo] = lambda: None  # noqa: E731 - a value of the type Undo


class Act(NamedTuple):
    """One act. All times are virtual, in ms."""

    at_ms: int
    """When it begins, counted from the start of the run."""
    verb: str
    who: tuple[int, ...]
    """The brokers by id, or the clients by their place in the scenario, from 1."""
    for_ms: int = 0
    """How long it lasts. 0: until another act ends it, or until the end of the run."""
    by_ms: int = 0
    """How slow, or how far: the meaning depends on the verb."""
    options: tuple[str, ...] = ()
    """Words such as `topic=web`, for verbs that have options."""

    def __str__(self) -> str:
        words = [f"at {show_ms(self.at_ms)}", self.verb, *map(str, self.who), *self.options]
        if self.by_ms:
            words.append(f"by {show_ms(self.by_ms)}")
        if self.for_ms:
            words.append(f"for {show_ms(self.for_ms)}")
        return " ".join(words)


class Stage(NamedTuple):
    """The cluster and the clients to which acts are applied, and a function that starts a
    broker.
    """

    cluster: SimCluster
    start: Callable[[int], None]
    """Starts a broker. It is up some time later."""
    clients: Sequence[SimProcess]
    """The processes of the scenario's clients, in the order of its lines."""


class Verb(NamedTuple):
    """One kind of act: what it does, and the ranges from which a seed draws it."""

    help: str
    takes: int
    """How many brokers or clients it names."""
    begin: Callable[[Stage, Act], Undo | None]
    """Does it. Returns what ends it, or None if it is not possible now."""
    for_ms: tuple[int, int] | None = None
    by_ms: tuple[int, int] | None = None
    of_clients: bool = False
    """Whether it names clients, and not brokers."""
    options: tuple[str, ...] = ()
    """The names of its options."""
    asks: Asks | None = None
    """Asks the cluster for it, instead of `begin`. It takes virtual time, and may be refused."""


def _asked(_: Stage, __: Act) -> Undo | None:
    return NOTHING_TO_UNDO


def _by_admin(help_text: str, *options: str) -> Verb:
    return Verb(help_text, 0, _asked, options=options, asks=act_on_topic)


def _is_up(stage: Stage, broker: int) -> bool:
    return stage.cluster.brokers[broker].server is not None


def _kill(stage: Stage, act: Act) -> Undo | None:
    [broker] = act.who
    if not _is_up(stage, broker):
        return None
    stage.cluster.kill(broker)
    return lambda: stage.start(broker)


def _kill_in_write(stage: Stage, act: Act) -> Undo | None:
    [broker] = act.who
    sim = stage.cluster.brokers[broker]
    if sim.server is None:
        return None
    chance = SeededRandom(f"{stage.cluster.seed}/{act}")
    stage.cluster.kill_in_write(broker, chance.randint(*TORN_AFTER_BYTES))
    process = sim.process

    def start() -> None:
        if sim.process is process:
            if process.alive:
                sim.file_system.no_crash()
            else:
                stage.start(broker)

    return start


def _kill_all(stage: Stage, _: Act) -> Undo | None:
    killed = [broker for broker in stage.cluster.brokers if _is_up(stage, broker)]
    for broker in killed:
        stage.cluster.kill(broker)

    def start() -> None:
        for broker in killed:
            stage.start(broker)

    return start if killed else None


def _stop(stage: Stage, act: Act) -> Undo | None:
    [broker] = act.who
    sim = stage.cluster.brokers[broker]
    if sim.server is None or sim.process.paused:
        return None
    stopping, process = stage.cluster.begin_stop(broker), sim.process

    def start() -> None:
        # It starts again when it has stopped, or not at all if it was killed meanwhile.
        if sim.process is process and process.alive and sim.server is not None:
            stopping.add_done_callback(lambda _: stage.start(broker))
        else:
            stage.start(broker)

    return start


def _pause(stage: Stage, act: Act) -> Undo | None:
    [broker] = act.who
    sim = stage.cluster.brokers[broker]
    if sim.server is None or sim.process.paused:
        return None
    process, zk_client = sim.process, sim.zk_client
    stage.cluster.pause(broker)
    if zk_client is not None:
        zk_client.pause()

    def resume() -> None:
        if sim.process is process and process.alive:
            stage.cluster.resume(broker)
            if zk_client is not None:
                zk_client.resume()

    return resume


def _cut(stage: Stage, act: Act) -> Undo | None:
    a, b = act.who
    return stage.cluster.cut(a, b, one_way=act.verb == "cut-one-way")


def _isolate(stage: Stage, act: Act) -> Undo | None:
    [broker] = act.who
    cuts = [stage.cluster.cut(broker, one) for one in stage.cluster.brokers if one != broker]

    def mend() -> None:
        for end_cut in cuts:
            end_cut()

    return mend


def _reset_link(stage: Stage, act: Act) -> Undo | None:
    a, b = (stage.cluster.brokers[broker].process for broker in act.who)
    stage.cluster.network.reset_between(a, b)
    return NOTHING_TO_UNDO


def _cut_zookeeper(stage: Stage, act: Act) -> Undo | None:
    [broker] = act.who
    sim = stage.cluster.brokers[broker]
    client = sim.zk_client
    if sim.server is None or client is None:
        return None
    client.cut()
    return client.mend


def _slow_link(stage: Stage, act: Act) -> Undo | None:
    network = stage.cluster.network
    a, b = (stage.cluster.brokers[broker].process for broker in act.who)
    network.slow_down(a, b, (act.by_ms / 4, act.by_ms))
    return lambda: network.speed_up(a, b)


def _delay_link(stage: Stage, act: Act) -> Undo | None:
    network = stage.cluster.network
    a, b = (stage.cluster.brokers[broker].process for broker in act.who)
    network.slow_down(a, b, (act.by_ms, act.by_ms))
    return lambda: network.speed_up(a, b)


def _slow_client(stage: Stage, act: Act) -> Undo | None:
    place = act.who[0] - 1
    if place >= len(stage.clients):
        return None
    client, network = stage.clients[place], stage.cluster.network
    for broker in stage.cluster.brokers.values():
        network.slow_down(client, broker.process, (act.by_ms / 4, act.by_ms))

    def quick() -> None:
        for broker in stage.cluster.brokers.values():
            network.speed_up(client, broker.process)

    return quick


def _slow_disk(stage: Stage, act: Act) -> Undo | None:
    disk = stage.cluster.brokers[act.who[0]].disk
    disk.worker_ms, disk.stall_ms = (act.by_ms / 4, act.by_ms), (act.by_ms / 20, act.by_ms / 4)

    def quick() -> None:
        disk.worker_ms = disk.stall_ms = QUICK

    return quick


def _expire_session(stage: Stage, act: Act) -> Undo | None:
    sim = stage.cluster.brokers[act.who[0]]
    if sim.server is None or sim.zk_client is None or not sim.zk_client.session_id:
        return None
    stage.cluster.zookeeper.expire(sim.zk_client.session_id)
    return NOTHING_TO_UNDO


def _clock_jump(stage: Stage, act: Act) -> Undo | None:
    stage.cluster.brokers[act.who[0]].time.jump(act.by_ms)
    return NOTHING_TO_UNDO


def _reset_clients(stage: Stage, _: Act) -> Undo | None:
    for process in stage.clients:
        stage.cluster.network.reset(process)
    return NOTHING_TO_UNDO


def _pause_client(stage: Stage, act: Act) -> Undo | None:
    place = act.who[0] - 1
    if place >= len(stage.clients) or stage.clients[place].paused:
        return None
    process, loop = stage.clients[place], stage.cluster.loop
    loop.pause(process)
    return lambda: loop.resume(process)


def _lose_tail(stage: Stage, act: Act) -> Undo | None:
    [broker] = act.who
    if not _is_up(stage, broker):
        return None
    stage.cluster.kill(broker)
    stage.cluster.brokers[broker].file_system.lose_power()
    return lambda: stage.start(broker)


def _restart(stage: Stage, act: Act) -> Undo | None:
    undo = _stop(stage, act)
    if undo is not None:
        undo()
    return undo


def _load(stage: Stage, act: Act) -> Undo | None:
    load = SimLoad(stage.cluster, load_spec(act.options))
    load.start()
    return load.stop


LINK: Final = (500, 5_000)
TORN_AFTER_BYTES: Final = (0, 1_000)
"""How many more bytes a broker writes before `kill-in-write` cuts a write."""
BURST_CHANCE: Final = 0.3
BURST_MS: Final = (0, 150)
"""How soon the next act of a burst comes: several faults at once find more than one after the
other.
"""
SAME_CHANCE: Final = 0.5
"""How often an act of a burst is of the same kind as the one before it. Faults of one cause come
together: ZooKeeper is busy, and several sessions end; a switch fails, and several links are cut.
"""
VERBS: Final[Mapping[str, Verb]] = {
    "kill": Verb("kill -9, and start it again", 1, _kill, (200, 6_000)),
    "kill-in-write": Verb(
        "kill -9 in the middle of a write, and start it again", 1, _kill_in_write, (500, 6_000)
    ),
    "kill-all": Verb(
        "kill -9 of every broker at once, and start them again", 0, _kill_all, (200, 4_000)
    ),
    "stop": Verb("stop it in an orderly way, and start it again", 1, _stop, (500, 4_000)),
    "pause": Verb("SIGSTOP, and SIGCONT", 1, _pause, (300, 5_000)),
    "cut": Verb("no data passes between two brokers", 2, _cut, LINK),
    "cut-one-way": Verb("no data passes from the first to the second", 2, _cut, LINK),
    "isolate": Verb("no data passes between it and any other broker", 1, _isolate, LINK),
    "reset-link": Verb("all connections between two brokers are reset", 2, _reset_link),
    "cut-zookeeper": Verb("no data passes between it and ZooKeeper", 1, _cut_zookeeper, LINK),
    "slow-link": Verb("data between two brokers takes so long", 2, _slow_link, LINK, (20, 400)),
    "slow-disk": Verb("what it writes takes so long", 1, _slow_disk, LINK, (100, 2_000)),
    "expire-session": Verb("ZooKeeper ends its session at once", 1, _expire_session),
    "clock-jump": Verb("its wall clock is set forward", 1, _clock_jump, None, (1_000, 60_000)),
    "reset-clients": Verb("all connections of clients are reset", 0, _reset_clients),
    "pause-client": Verb(
        "SIGSTOP and SIGCONT of a client", 1, _pause_client, (500, 6_000), of_clients=True
    ),
    "slow-client": Verb(
        "data to and from a client takes so long",
        1,
        _slow_client,
        LINK,
        (20, 1_000),
        of_clients=True,
    ),
    "lose-tail": Verb(
        "power fails: it loses the data that was not flushed, and starts again",
        1,
        _lose_tail,
        (200, 6_000),
    ),
}
"""The verbs that a scenario may use. `lose-tail` is in no scenario by default: Kafka acknowledges
before it flushes, so a leader that loses its tail and is back before its session ends loses acked
records in Kafka too.
"""


BY_HAND: Final[Mapping[str, Verb]] = {
    "delay-link": Verb(
        "data between two brokers takes exactly so long", 2, _delay_link, LINK, (20, 400)
    ),
    "restart": Verb("stop it in an orderly way, and start it at once", 1, _restart),
    "load": Verb(
        "a steady load of our own clients",
        0,
        _load,
        (1_000, 60_000),
        options=("topic", "rate", "acks", "keys", "size", "producers", "consumers", "group"),
    ),
    "create-topic": _by_admin("the controller creates a topic", "topic", "partitions"),
    "add-partitions": _by_admin("a topic gets more partitions", "topic", "partitions"),
    "delete-topic": _by_admin("the controller deletes a topic", "topic"),
    "reassign": _by_admin("a partition moves to other brokers", "partition", "replicas"),
    "elect-preferred": _by_admin("the preferred replica becomes the leader", "partition"),
    "elect-unclean": _by_admin("any replica may become the leader", "partition"),
    "delete-controller": Verb(
        "the znode of the controller is deleted", 0, _asked, asks=act_on_controller
    ),
    "write-controller": Verb(
        "the znode of the controller names this broker", 1, _asked, asks=act_on_controller
    ),
}
"""The verbs of acts that are no faults, so that no seed draws them."""
ACTS: Final[Mapping[str, Verb]] = {**VERBS, **BY_HAND}


class End(NamedTuple):
    """An act that ends another one before its time."""

    help: str
    takes: int
    ends: tuple[str, ...]
    """The verbs of the acts that it ends."""
    for_ms: None = None
    by_ms: None = None
    of_clients: bool = False
    options: tuple[str, ...] = ()


ENDS: Final[Mapping[str, End]] = {
    "start": End("start a broker that is down", 1, ("kill", "kill-in-write", "stop", "lose-tail")),
    "resume": End("SIGCONT", 1, ("pause",)),
    "heal": End(
        "the link between two brokers is whole",
        2,
        ("cut", "cut-one-way", "slow-link", "delay-link"),
    ),
    "end-load": End("a load ends, after its last answers", 0, ("load",)),
    "heal-zookeeper": End("data passes between it and ZooKeeper", 1, ("cut-zookeeper",)),
}
"""The acts that end others. A seed never draws them, because what it draws has its own end."""


def draw(
    chance: SeededRandom,
    verbs: Sequence[str],
    brokers: Sequence[int],
    clients: int,
    within_ms: int,
    every_ms: tuple[int, int],
) -> list[Act]:
    """Draw a schedule: an act about every `every_ms`, each of a random kind, until `within_ms`.
    Some acts come in bursts, one shortly after the other. Many acts of a burst are of the same
    kind.

    `brokers` holds the ids of the brokers. `clients` is the number of clients; their ids count from
    1.
    """
    acts: list[Act] = []
    at_ms = chance.randint(*every_ms)
    name, in_burst = "", False
    while at_ms < within_ms:
        if not in_burst or chance.random() >= SAME_CHANCE:
            name = chance.choice(verbs)
        verb = VERBS[name]
        acts.append(
            Act(
                at_ms,
                name,
                tuple(
                    chance.sample(range(1, clients + 1) if verb.of_clients else brokers, verb.takes)
                ),
                _rather_short(chance, verb.for_ms) if verb.for_ms else 0,
                _rather_short(chance, verb.by_ms) if verb.by_ms else 0,
            )
        )
        in_burst = chance.random() < BURST_CHANCE
        at_ms += chance.randint(*(BURST_MS if in_burst else every_ms))
    return acts


def _rather_short(chance: SeededRandom, between_ms: tuple[int, int]) -> int:
    """Draw a time. Short times are more frequent, because most faults of real machines are
    short.
    """
    low, high = between_ms
    part = chance.random()
    return low + int((high - low) * part * part)


def parse_act(words: Sequence[str]) -> Act:
    """Read an act in the form in which `Act.__str__` writes it. Raises ValueError with a text that
    says what to write instead.
    """
    if len(words) < 3 or words[0] != "at":
        raise ValueError("an act begins with its time: at 3.2s kill 2 for 4s")
    at_ms, name = parse_ms(words[1]), words[2]
    rest = [word for word in words[3:] if "=" not in word]
    options = tuple(word for word in words[3:] if "=" in word)
    verb = ACTS.get(name) or ENDS.get(name)
    if verb is None:
        raise ValueError(f"there is no act {name!r}; there are {', '.join([*ACTS, *ENDS])}")
    for option in options:
        if option.partition("=")[0] not in verb.options:
            has = f"; it has {', '.join(verb.options)}" if verb.options else ""
            raise ValueError(f"{name} has no option {option!r}{has}")
    if name == "load":
        load_spec(options)
    given = {"for": 0, "by": 0}
    while len(rest) > 2 and rest[-2] in given:
        given[rest[-2]] = parse_ms(rest[-1])
        del rest[-2:]
    while len(rest) == 2 and rest[0] in given:
        given[rest[0]] = parse_ms(rest[1])
        rest = []
    if len(rest) != verb.takes or not all(word.isdigit() for word in rest):
        kind = "numbers of clients" if verb.of_clients else "broker ids"
        raise ValueError(f"{name} needs {verb.takes} {kind}, not {' '.join(rest) or 'none'}")
    if given["for"] and not verb.for_ms:
        raise ValueError(f"{name} has no `for`")
    if bool(given["by"]) != bool(verb.by_ms):
        raise ValueError(
            f"{name} {'needs' if verb.by_ms else 'has no'} `by`"
            + (f": by {show_ms(verb.by_ms[1])}" if verb.by_ms else "")
        )
    return Act(at_ms, name, tuple(map(int, rest)), given["for"], given["by"], options)
