"""The pictures of chapter 06, made by the broker's own classes.

They use a simulated cluster of three brokers. Its broker 1 is stopped, killed, or the subject of a
ControlledShutdown request. Time is virtual and everything follows from a seed, so each picture is
the same each time.
"""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import graphviz
from rich.table import Table
from rich.text import Text

from kafka_edu.cluster.topic_assignment import TopicAssignment
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.instruments.drawings.figure import (
    BLUE,
    GREEN,
    GREY,
    RED,
    WHITE,
    YELLOW,
    cell,
    new_figure,
    table,
    wrapped,
)
from kafka_edu.instruments.drawings.processes import Shown
from kafka_edu.instruments.drawings.time_space import time_space_figure
from kafka_edu.instruments.presenter.script import Picture
from kafka_edu.instruments.sentences import sentence
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from kafka_edu.sim.no_log import no_log
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Envelope, Event, Level
from kafka_edu.trace.events.controller import (
    ControlledShutdownProcessed,
    ControllerElected,
    LeaderElected,
    ReplicaRemovedFromIsr,
)
from kafka_edu.trace.events.log import CheckpointWritten, LogFlushed, LogLoaded, LogRecovered
from kafka_edu.trace.events.network import ConnectionOpened, RequestReceived, ResponseSent
from kafka_edu.trace.events.replication import BecameLeader, ReplicaStopped
from kafka_edu.trace.events.server import (
    BrokerStateChanged,
    ControlledShutdownAttempted,
    ServerStopped,
    ServerStopping,
)
from kafka_edu.trace.events.zk import SessionClosed, SessionExpired
from kafka_edu.trace.reader import History

from ..drawing import COLUMNS, picture

SEED: Final = 6
BROKERS: Final = (0, 1, 2)
CONTROLLER: Final = 0
"""The id of the broker that starts first and so becomes the controller."""
GOES: Final = 1
SESSION_MS: Final = 6_000
"""zookeeper.session.timeout.ms of Kafka 2.0. Since 2.5 the default is 18,000."""
LED, FOLLOWED = TopicPartition("web", 0), TopicPartition("web", 1)
ALONE: Final = TopicPartition("alone", 0)
#: The book's three cases: broker 1 is a leader, a follower, or the only replica.
ASSIGNMENT: Final[Mapping[TopicPartition, tuple[int, ...]]] = {
    LED: (1, 2, 0),
    FOLLOWED: (2, 1, 0),
    ALONE: (1,),
}
REQUEST: Final = "ControlledShutdown"
#: log.segment.bytes, as a text. A segment of this size holds two of the small batches here.
SMALL_SEGMENT: Final = "200"
FIRST_RECORDS: Final = 9
MORE_RECORDS: Final = 6


def figures() -> Mapping[str, graphviz.Digraph]:
    """Draw the figures for the chapter's page, and return them by name."""
    return {
        "four-steps": _four_steps_figure(),
        "messages": _messages_figure(),
        "cases": _cases_figure(),
        "segments": _segments_figure(),
    }


# The simulated cluster.


def _started(props: Mapping[str, str] | None = None, level: Level = Level.STATE) -> SimCluster:
    """Start three brokers, and write a record to each partition."""
    cluster = SimCluster(
        SEED,
        BROKERS,
        {
            "zookeeper.session.timeout.ms": str(SESSION_MS),
            "auto.leader.rebalance.enable": "false",
            **(props or {}),
        },
        level,
    )
    cluster.start_all()
    tool = cluster.brokers[CONTROLLER].process
    admin = cluster.admin(tool)
    for topic in sorted({tp.topic for tp in ASSIGNMENT}):
        replicas = {tp.partition: list(ids) for tp, ids in ASSIGNMENT.items() if tp.topic == topic}
        assignment = TopicAssignment.of(replicas)
        cluster.run_as(tool, admin.create_topic_assignment(topic, assignment))
    cluster.advance(1_000)
    for tp in ASSIGNMENT:
        _produce(cluster, tp, 1)
    return cluster


def _produce(cluster: SimCluster, tp: TopicPartition, count: int) -> None:
    """Write `count` records with acks=all, each in its own batch."""
    client = SimClient(cluster)
    for _ in range(count):
        client.produce(tp, "an order", -1)
        cluster.advance(100)


def _run(
    act: Callable[[SimCluster], None], then_ms: float, props: Mapping[str, str] | None = None
) -> list[Envelope]:
    """Start a cluster, do something to it, and let `then_ms` of virtual time pass.

    Return the events from the action on.
    """
    with no_log():
        cluster = _started(props)
        begin = len(cluster.sink.events)
        act(cluster)
        cluster.advance(then_ms)
        events = list(cluster.sink.events[begin:])
        cluster.close()
    return events


def _stop(cluster: SimCluster) -> None:
    cluster.stop(GOES)


def _kill(cluster: SimCluster) -> None:
    cluster.kill(GOES)


def _ms(since: Envelope, envelope: Envelope) -> float:
    return (envelope.mono_us - since.mono_us) / 1000


def _event_line(at: str, envelope: Envelope, words: str, *, bold: bool = False) -> Text:
    """Return a line: when, which process, what. Long texts continue on indented lines."""
    head = f"{at}  {_who(envelope):<9}  "
    lines = textwrap.wrap(words, COLUMNS - len(head))
    text = f"\n{' ' * len(head)}".join(lines)
    return Text(f"{head}{text}\n", "bold" if bold else "")


def _who(envelope: Envelope) -> str:
    return "zookeeper" if envelope.broker is None else f"broker {envelope.broker}"


# The four steps.


class Step(NamedTuple):
    """An event of an orderly shutdown, and the number of the book's step that it belongs to.

    The steps are those of figure 6-16.
    """

    number: str
    envelope: Envelope


@cache
def stopped() -> list[Envelope]:
    """Stop broker 1, and return all events of its shutdown."""
    return _run(_stop, 1_000)


def _of_request(event: Event) -> bool:
    return getattr(event, "api", "") == REQUEST or REQUEST in sentence(event).line


@cache
def steps() -> list[Step]:
    """Return the events that belong to the four steps."""
    found: list[Step] = []
    asked = False
    for envelope in stopped():
        event = envelope.event
        match event:
            case ServerStopping():
                found.append(Step("", envelope))
            case ConnectionOpened() if envelope.broker == CONTROLLER and not asked:
                found.append(Step("1", envelope))
            case RequestReceived() if _of_request(event):
                asked = True
                found.append(Step("2", envelope))
            case LeaderElected() | BecameLeader() | ReplicaStopped() | ReplicaRemovedFromIsr():
                found.append(Step("3", envelope))
            case ControlledShutdownProcessed():
                found.append(Step("3", envelope))
            case ResponseSent() if _of_request(event):
                found.append(Step("4", envelope))
            case ControlledShutdownAttempted():
                found.append(Step("4", envelope))
                return found
    return found


def _shortened(line: str) -> str:
    """Return a sentence without ports and without the client's name, which are of no use here."""
    if line.startswith("accepts connection"):
        return "accepts a connection of its own"
    return line.replace(f" of broker-{GOES}-controlled-shutdown", "")


def four_steps() -> Picture:
    """Show the steps of an orderly shutdown, with their times."""
    first = steps()[0].envelope
    lines = Text()
    for number, envelope in steps():
        at = f"{_ms(first, envelope):>4.1f} ms  {number or ' '}"
        bold = isinstance(envelope.event, LeaderElected)
        lines.append(
            _event_line(at, envelope, _shortened(sentence(envelope.event).line), bold=bold)
        )
    lines.right_crop(1)
    elected = next(one.envelope for one in steps() if isinstance(one.envelope.event, LeaderElected))
    leads = next(one.envelope for one in steps() if isinstance(one.envelope.event, BecameLeader))
    return picture(
        {
            "elected_ms": f"{_ms(first, elected):.1f}",
            "leads_ms": f"{_ms(first, leads):.1f}",
            "let_go_ms": f"{_ms(first, steps()[-1].envelope):.1f}",
        },
        lines,
    )


# The ControlledShutdown request and its answer.


class Sized(NamedTuple):
    """The sizes of the ControlledShutdown request and answer in one version: bytes of the body."""

    version: int
    request: int
    answer: int
    """Size of the answer if the broker no longer leads any partition."""
    one_left: int
    """Size of the answer if the broker still leads web-0."""


def sizes() -> list[Sized]:
    """Return the sizes of each version, as our encoder writes them."""
    request = ControlledShutdownRequest(broker_id=GOES, broker_epoch=57)
    left = RemainingPartition(topic_name=LED.topic, partition_index=LED.partition)
    found = []
    for version in range(4):
        answers = [
            ControlledShutdownResponse(error_code=Errors.NONE, remaining_partitions=partitions)
            for partitions in ([], [left])
        ]
        none, one = (len(answer.encode(version)) for answer in answers)
        found.append(Sized(version, len(request.encode(version)), none, one))
    return found


def messages() -> Picture:
    """Show the sizes of ControlledShutdown requests and answers."""
    shown = Table("version", "request", "answer: none left", "web-0 left", box=None)
    for one in sizes():
        shown.add_row(f"v{one.version}", *(f"{size} bytes" for size in one[1:]))
    first = sizes()[0]
    return picture(
        {
            "request_v0": first.request,
            "answer_v0": first.answer,
            "left_v0": first.one_left,
            "request_v2": sizes()[2].request,
        },
        shown,
        Text("the body alone, without size and header; v2 adds the broker's epoch"),
    )


# The three cases.


class Case(NamedTuple):
    """A partition before and after broker 1 was stopped."""

    tp: TopicPartition
    leader_before: int
    leader: int
    """The leader after broker 1 has stopped. -1: there is none."""
    isr: tuple[int, ...]


@cache
def cases() -> list[Case]:
    """Stop broker 1, and return its three partitions with their leaders before and after."""
    states = {tp: (ids[0], ids) for tp, ids in ASSIGNMENT.items()}
    for envelope in stopped():
        match envelope.event:
            case LeaderElected(topic=topic, partition=partition, new_leader=leader, isr=isr):
                states[TopicPartition(topic, partition)] = leader, tuple(isr)
            case ReplicaRemovedFromIsr(topic=topic, partition=partition, isr=isr):
                tp = TopicPartition(topic, partition)
                states[tp] = states[tp][0], tuple(isr)
    return [Case(tp, ids[0], *states[tp]) for tp, ids in ASSIGNMENT.items()]


def three_cases() -> Picture:
    """Show what the controller did with each of the three partitions."""
    shown = Table("partition", "AR", "leader", "leader after", "ISR after", box=None)
    for case in cases():
        shown.add_row(
            str(case.tp),
            ", ".join(map(str, ASSIGNMENT[case.tp])),
            str(case.leader_before),
            "none" if case.leader in (-1, GOES) else str(case.leader),
            ", ".join(map(str, case.isr)),
        )
    processed = _only(stopped(), ControlledShutdownProcessed)
    assert isinstance(processed.event, ControlledShutdownProcessed)
    led = next(case for case in cases() if case.tp == LED)
    return picture(
        {
            "led": processed.event.led,
            "followed": processed.event.followed,
            "remaining": processed.event.remaining,
            "heir": led.leader,
        },
        shown,
    )


def _only(events: Sequence[Envelope], kind: type) -> Envelope:
    return next(one for one in events if isinstance(one.event, kind))


# SIGTERM compared with kill -9.


class End(NamedTuple):
    """The cost of one way of ending broker 1."""

    gap_ms: float
    """Time in ms from the signal to the election of web-0's next leader."""
    over: str
    """How the broker's ZooKeeper session ended: `closed` or `expired`."""
    clean: bool
    read: int
    """The number of segments that the next start had to read again."""


@cache
def ends() -> Mapping[str, End]:
    """End broker 1 with SIGTERM and with kill -9, and start it again. Return what each of the two
    cost, in virtual time.
    """
    found = {}
    for name, act in (("SIGTERM", _stop), ("kill -9", _kill)):

        def go_and_come(cluster: SimCluster, act: Callable[[SimCluster], None] = act) -> None:
            act(cluster)
            cluster.advance(4 * SESSION_MS)
            cluster.start(GOES)

        events = _run(go_and_come, 2_000)
        elected = _only(events, LeaderElected)
        over = _only(events, SessionExpired if act is _kill else SessionClosed)
        loaded = [e.event for e in events if isinstance(e.event, LogLoaded) and e.broker == GOES]
        found[name] = End(
            _ms(events[0], elected),
            "expired" if isinstance(over.event, SessionExpired) else "closed",
            all(one.clean for one in loaded if isinstance(one, LogLoaded)),
            sum(e.event.segments for e in events if isinstance(e.event, LogRecovered)),
        )
    return found


def gaps() -> Picture:
    """Show both ways of ending side by side."""
    shown = Table("", *ends(), box=None)
    rows: dict[str, Callable[[End], str]] = {
        "web-0 has its next leader after": lambda one: f"{one.gap_ms:,.0f} ms",
        "the session": lambda one: one.over,
        ".kafka_cleanshutdown": lambda one: "there" if one.clean else "not there",
        "segments read by the next start": lambda one: str(one.read),
    }
    for words, of in rows.items():
        shown.add_row(words, *(of(one) for one in ends().values()))
    term, kill = ends().values()
    return picture(
        {
            "gap_term": round(term.gap_ms),
            "gap_kill": round(kill.gap_ms),
            "read_term": term.read,
            "read_kill": kill.read,
        },
        shown,
        Text(f"zookeeper.session.timeout.ms = {SESSION_MS:,}; a tick of ZooKeeper is 2,000 ms"),
    )


# A controller that does not answer.


def _stop_past_a_sleeping_controller(cluster: SimCluster) -> None:
    cluster.pause(CONTROLLER)
    cluster.stop(GOES)


@cache
def asked() -> list[Envelope]:
    """Stop broker 1 while the controller is paused, with Kafka's defaults. Return the events."""
    kinds = (
        *(ServerStopping, ControlledShutdownAttempted, ServerStopped),
        *(ControllerElected, SessionExpired, LeaderElected),
    )
    props = {"controlled.shutdown.retry.backoff.ms": "5000"}
    return [
        one
        for one in _run(_stop_past_a_sleeping_controller, 0, props)
        if isinstance(one.event, kinds)
    ]


def patience() -> Picture:
    """Show how a broker repeats its ControlledShutdown request while the controller is paused."""
    first = _only(asked(), ServerStopping)
    lines = Text()
    for envelope in asked():
        bold = isinstance(envelope.event, ControlledShutdownAttempted)
        at = f"{_ms(first, envelope) / 1000:>5.1f} s"
        lines.append(_event_line(at, envelope, sentence(envelope.event).line, bold=bold))
    lines.right_crop(1)
    tries = [one for one in asked() if isinstance(one.event, ControlledShutdownAttempted)]
    return picture(
        {
            "tries": len(tries),
            "first_try_s": f"{_ms(first, tries[0]) / 1000:.0f}",
            "patience_s": f"{_ms(first, tries[-1]) / 1000:.0f}",
        },
        lines,
    )


# The order of a broker's shutdown.


@cache
def order() -> list[tuple[Envelope, str]]:
    """Return the events of broker 1's shutdown, each with a sentence."""
    found: list[tuple[Envelope, str]] = []
    seen: set[str] = set()
    for envelope in stopped():
        event, words = envelope.event, ""
        match event:
            case SessionClosed():
                words = "its session is closed, and its znode is gone"
            case _ if envelope.broker != GOES:
                continue
            case BrokerStateChanged(after=after):
                words = f"is {after}"
            case LogFlushed(topic=topic, partition=partition, recovery_point=point):
                words = f"forces {topic}-{partition} to the disk, up to offset {point}"
            case CheckpointWritten(file=file):
                words = f"writes {file}"
            case ServerStopped(clean=clean):
                words = f"has stopped{', and .kafka_cleanshutdown is there' if clean else ''}"
        if words and words not in seen:
            seen.add(words)
            found.append((envelope, words))
    return found


def the_order() -> Picture:
    """Show in which order a broker shuts its parts down."""
    lines = Text()
    first = stopped()[0]
    for envelope, words in order():
        lines.append(_event_line(f"{_ms(first, envelope):>4.1f} ms", envelope, words))
    lines.right_crop(1)
    flushed = sum(isinstance(envelope.event, LogFlushed) for envelope, _ in order())
    return picture({"flushed": flushed}, lines)


# What the next start reads.


class Found(NamedTuple):
    """The log of web-0 on broker 1 when it was killed, and what the next start did to it."""

    bases: tuple[int, ...]
    point: int
    end: int
    read: int
    """The number of segments that were read again."""


@cache
def found() -> Found:
    """Stop and start broker 1, write more records, kill it, and start it again."""
    with no_log():
        cluster = _started({"log.segment.bytes": SMALL_SEGMENT})
        _produce(cluster, LED, FIRST_RECORDS - 1)
        cluster.stop(GOES)
        cluster.start(GOES)
        cluster.advance(2_000)
        _produce(cluster, LED, MORE_RECORDS)
        files = cluster.brokers[GOES].file_system
        folder = f"{cluster.config(GOES).log_dirs[0]}/{LED}"
        names = [name for name in files.list(folder) if name.endswith(".log")]
        begin = len(cluster.sink.events)
        cluster.kill(GOES)
        cluster.advance(4 * SESSION_MS)
        cluster.start(GOES)
        cluster.advance(1_000)
        recovered = [
            one.event
            for one in cluster.sink.events[begin:]
            if isinstance(one.event, LogRecovered)
            and one.event.topic == LED.topic
            and one.event.partition == LED.partition
        ]
        cluster.close()
    bases = tuple(sorted(int(name.removesuffix(".log")) for name in names))
    [event] = recovered
    return Found(bases, event.recovery_point, event.log_end_offset, event.segments)


def segments() -> Picture:
    """Show which segments are read again after a kill."""
    log = found()
    shown = Table("segment", "offsets", "the next start", box=None)
    for base, behind in zip(log.bases, [*log.bases[1:], log.end], strict=True):
        below = behind <= log.point and base != log.bases[-1]
        shown.add_row(
            f"{base:020d}.log",
            f"{base} to {behind - 1}",
            "leaves it" if below else "reads it again",
        )
    return picture(
        {"segments": len(log.bases), "point": log.point, "read_again": log.read},
        shown,
        Text(f"the recovery point is {log.point}: everything below was on the disk"),
    )


# Another client sends ControlledShutdown.


@cache
def asked_by_another() -> list[Envelope]:
    """Let a client send ControlledShutdown for broker 1, and return the events that followed."""

    def ask(cluster: SimCluster) -> None:
        async def send() -> int:
            client = NetworkClient(cluster.network.transport(), "anybody")
            await client.connect("127.0.0.1", cluster.port(CONTROLLER), 1_000)
            request = ControlledShutdownRequest(broker_id=GOES, broker_epoch=-1)
            answer = await client.ask(request, 2, ControlledShutdownResponse, 10_000)
            client.close()
            return answer.error_code

        cluster.run_as(SimClient(cluster).process, send())

    kinds = (LeaderElected, ReplicaStopped, ReplicaRemovedFromIsr, ControlledShutdownProcessed)
    return [one for one in _run(ask, 2_000) if isinstance(one.event, (*kinds, ServerStopping))]


def for_another() -> Picture:
    """Show what happens if a client sends ControlledShutdown for a broker that is not stopping."""
    events = asked_by_another()
    lines = Text()
    for envelope in events:
        at = f"{_ms(events[0], envelope):>4.1f} ms"
        lines.append(_event_line(at, envelope, sentence(envelope.event).line))
    lines.right_crop(1)
    stops = any(isinstance(one.event, ServerStopping) for one in events)
    return picture({"another_stops": "yes" if stops else "no"}, lines)


# The figures.


def _four_steps_figure() -> graphviz.Digraph:
    """Draw the four steps of the book as messages between brokers."""
    history = History(stopped())
    envelopes = [one.envelope for one in steps()]
    shown: list[Shown] = []
    for number, envelope in steps():
        causes = [
            before
            for before in envelopes[: envelopes.index(envelope)]
            if before.source != envelope.source
        ]
        crosses = number in "14" or isinstance(
            envelope.event, RequestReceived | BecameLeader | ReplicaStopped
        )
        if isinstance(envelope.event, ResponseSent | ControlledShutdownProcessed | LeaderElected):
            crosses = False
        shown.append(Shown(envelope, tuple(causes[-1:]) if crosses else ()))
    numbers = {id(one.envelope): one.number for one in steps()}

    def words(one: Shown, _: History) -> str:
        number, line = numbers[id(one.envelope)], _shortened(sentence(one.envelope.event).line)
        return f"({number}) {line}" if number else line

    title = "Broker 1 asks to be let go; broker 0 is the controller"
    return time_space_figure(title, shown, history, envelopes[0], words)


FIELDS: Final = (
    ("ControlledShutdownRequest", (("broker_id", "int32", "0+"), ("broker_epoch", "int64", "2+"))),
    (
        "ControlledShutdownResponse",
        (
            ("error_code", "int16", "0+"),
            ("remaining_partitions", "array", "0+"),
            ("    topic_name", "string", "0+"),
            ("    partition_index", "int32", "0+"),
        ),
    ),
)


def _messages_figure() -> graphviz.Digraph:
    """Draw the fields of the ControlledShutdown request and answer."""
    legend = [(GREY, "since version"), (BLUE, "type")]
    figure = new_figure("messages", "What is asked, and what is answered", legend, rankdir="TB")
    for name, fields in FIELDS:
        rows = [f'<td border="0" colspan="3" align="left"><b>{name}</b></td>']
        for field, kind, since in fields:
            padded = field.replace("    ", "&#160;&#160;&#160;")
            rows.append(
                f'<td border="0" align="left">{padded}</td>{cell(kind, BLUE)}{cell(since, GREY)}'
            )
        figure.node(name, shape="plaintext", label=table(rows))
    figure.edge(FIELDS[0][0], FIELDS[1][0], style="invis")
    return figure


GAP: Final = '<td border="0" width="14"></td>'


def _cases_figure() -> graphviz.Digraph:
    """Draw the three cases, before and after the shutdown."""
    legend = [
        (GREEN, "leads"),
        (BLUE, "follows, in the ISR"),
        (GREY, "out of the ISR"),
        (RED, "no leader"),
    ]
    figure = new_figure("cases", "Broker 1 is let go", legend)
    rows = [
        '<td border="0"></td>'
        + '<td border="0"></td>'.join(
            f'<td border="0" colspan="3">{when}</td>' for when in ("before", "after")
        )
    ]
    heads = "".join(f'<td border="0">{broker}</td>' for broker in BROKERS)
    rows.append(f'<td border="0" align="left">broker</td>{heads}{GAP}{heads}')
    for case in cases():
        replicas = ASSIGNMENT[case.tp]
        dark = case.tp == ALONE
        row = f'<td border="0" align="left">{wrapped(str(case.tp), 12)}</td>'
        for after in (False, True):
            row += GAP * after
            leader = case.leader if after else case.leader_before
            isr = case.isr if after else replicas
            for broker in BROKERS:
                if broker not in replicas:
                    row += cell("", WHITE)
                elif after and dark:
                    row += cell("-", RED)
                elif broker == leader:
                    row += cell("L", GREEN)
                else:
                    row += cell("F" if broker in isr else "-", BLUE if broker in isr else GREY)
        rows.append(row)
    figure.node("cases", shape="plaintext", label=table(rows))
    return figure


def _segments_figure() -> graphviz.Digraph:
    """Draw the log of web-0, and the part of it that a start reads."""
    log = found()
    legend = [(GREEN, "on the disk for certain"), (YELLOW, "is read again")]
    figure = new_figure("segments", f"The recovery point is {log.point}", legend)
    pairs = list(zip(log.bases, [*log.bases[1:], log.end], strict=True))
    most = max(behind - base for base, behind in pairs)
    rows = []
    for base, behind in pairs:
        read = behind > log.point or base == log.bases[-1]
        offsets = "".join(
            cell(str(offset), GREEN if offset < log.point else YELLOW)
            for offset in range(base, behind)
        )
        offsets += '<td border="0"></td>' * (most - (behind - base))
        words = "read again" if read else "left"
        rows.append(
            f'<td border="0" align="left">segment {base}</td>{offsets}'
            f'<td border="0" align="left">{words}</td>'
        )
    figure.node("log", shape="plaintext", label=table(rows))
    return figure


DRAWINGS: Final[Mapping[str, Callable[[], Picture]]] = {
    "gaps": gaps,
    "four-steps": four_steps,
    "messages": messages,
    "cases": three_cases,
    "order": the_order,
    "segments": segments,
    "patience": patience,
    "for-another": for_another,
}
