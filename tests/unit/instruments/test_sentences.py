"""Each event that is ever shown as a line has a sentence in plain English."""

import re
from collections.abc import Iterator
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import kafka_edu.trace.events.all  # noqa: F401 - fills the registry of event types
from kafka_edu.instruments import link_events
from kafka_edu.instruments.link_events import ClusterKnown, LinkLost, LinkMade
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences import fact_text, sentence, teller
from kafka_edu.trace.event import EVENT_TYPES, SUPERVISOR, Event, Kind, Source, SourceKind
from kafka_edu.trace.events.controller import ReplicaRemovedFromIsr
from kafka_edu.trace.events.log import CheckpointWritten, LogTruncated
from kafka_edu.trace.events.purgatory import WaitingOperationSampled
from kafka_edu.trace.events.replication import IsrChangeProposed
from kafka_edu.trace.events.server import LinkFaultChanged, LinkReset, RequestFailed
from kafka_edu.trace.events.timer import TimerTaskDemoted
from kafka_edu.trace.events.trace import HopsLeftOut
from kafka_edu.trace.events.transaction import (
    BY_ANOTHER,
    BatchFenced,
    ProducerFenced,
    TransactionalIdInitialised,
    TransactionStateChanged,
)

#: Facts, and the two other events that lines are made of: `trace show` and a breakpoint show them.
SHOWN = [
    known.cls
    for known in EVENT_TYPES.values()
    if known.cls.__module__.startswith("kafka_edu.")
    and (known.kind is Kind.FACT or known.cls in (HopsLeftOut, WaitingOperationSampled))
]
#: Fields that hold a broker's id.
BROKERS = {
    "broker", "broker_id", "follower", "leader", "new_leader", "replica", "controller",
    "controller_id",
}  # fmt: skip
#: Fields that hold a text which may be empty, by name, or by name and event.
OPTIONAL = {
    "cause", "client", "client_id", "detail", "held_by", "key", "label", "mode",
    "reason", "side", "signal", "title", "watermark", "why", "ControllerEventProcessed.error",
    "LoadState.error", "LoggerLevelChanged.level", "OffsetsCommitted.member",
    "ProxyAnswered.target", "ProxyAnswered.error", "RebalanceStarted.member",
    "SeedsExplored.rule", "SimulationPlayed.broken", "SimulationsCompared.first",
}  # fmt: skip
TEXTS = ("NONE", "OfflinePartition", "started", "complete")


def is_value(of: object) -> bool:
    return isinstance(of, type) and hasattr(of, "_fields") and of is not Source


def values_of(of: object, name: str = "") -> st.SearchStrategy[object]:
    """Return a strategy for the values of a field."""
    if of is int:
        return st.one_of(st.integers(-1, 2), st.integers(-(2**31), 2**62))
    if of is str:
        return st.sampled_from(
            (*TEXTS, "") if name in OPTIONAL or name.rpartition(".")[2] in OPTIONAL else TEXTS
        )
    if of is bool:
        return st.booleans()
    if of is Source:
        return st.builds(Source, st.sampled_from(SourceKind), st.integers(0, 3))
    if is_value(of):
        assert isinstance(of, type)
        return events_of(of)
    if get_origin(of) in (Union, UnionType):
        return st.one_of(
            *(st.none() if one is type(None) else values_of(one) for one in get_args(of))
        )
    assert get_origin(of) is tuple, of
    parts = get_args(of)
    if parts[-1] is Ellipsis:
        return st.lists(values_of(parts[0]), max_size=3).map(tuple)
    return st.tuples(*map(values_of, parts))


def events_of(cls: type[Event]) -> st.SearchStrategy[Event]:
    hints = get_type_hints(cls)
    make = getattr(cls, "_make")  # noqa: B009 - NamedTuple's own; mypy sees only a tuple here
    return st.tuples(*(values_of(of, f"{cls.__name__}.{name}") for name, of in hints.items())).map(
        make
    )


def distinct(of: object, numbers: Iterator[int], name: str = "") -> object:
    """Return a value of this type. All numbers and texts in the value are different."""
    if of is int:
        return next(numbers)
    if of is str:
        return f"{name}{next(numbers)}x"
    if of is bool:
        return True
    if of is Source:
        return Source.of_broker(next(numbers))
    if is_value(of):
        assert isinstance(of, type)
        return example(of, numbers)
    if get_origin(of) in (Union, UnionType):
        return distinct(get_args(of)[0], numbers)
    parts = get_args(of)
    if parts[-1] is Ellipsis:
        return tuple(distinct(parts[0], numbers, name) for _ in range(2))
    return tuple(distinct(part, numbers, name) for part in parts)


def example(cls: type[Event], numbers: Iterator[int]) -> Event:
    """Return an event of the type: field `topic` is `topic7x`, and so on."""
    make = getattr(cls, "_make")  # noqa: B009 - as above
    hints = get_type_hints(cls)
    event: Event = make([distinct(of, numbers, name) for name, of in hints.items()])
    return event


def whole(said: Sentence) -> list[str]:
    """Return all the lines that a sentence may become."""
    because = f"{said.text()}, because {said.reason}" if said.reason else said.text()
    return [said.line, because, *([said.because] if said.because else [])]


@pytest.mark.parametrize("cls", SHOWN, ids=lambda cls: cls.__name__)
@settings(max_examples=10)
@given(data=st.data())
def test_each_event_is_one_line_of_words(cls: type[Event], data: st.DataObject) -> None:
    event = data.draw(events_of(cls))
    for line in whole(sentence(event)):
        assert line == " ".join(line.split()), "one line, no empty part in it"
        assert re.search(r"[a-z]{2,}", line), "words"
        assert "None" not in line
        assert cls.__name__ not in line
        assert not re.search(r"[(\[](['\"]|-?\d+, )", line), "no tuple, no list"


@pytest.mark.parametrize("cls", SHOWN, ids=lambda cls: cls.__name__)
def test_each_event_names_brokers_partitions_and_units(cls: type[Event]) -> None:
    event = example(cls, iter(range(101, 999)))
    lines = whole(sentence(event))[:2]
    fields = dict(zip(get_type_hints(cls), event, strict=True))
    for line in lines:
        assert not [name for name in fields if re.search(rf"\b{name}=", line)], "a field's dump"
        for name, value in fields.items():
            if not isinstance(value, int) or isinstance(value, bool):
                continue
            before, found, after = line.partition(str(value))
            if not found:
                continue
            if name in BROKERS:
                assert re.search(r"brokers? $|broker \d+ → $|\{(\d+,)*$", before), f"{name}: {line}"
            if name.endswith(("_ms", "_us")):
                assert re.match(r" (ms|s)\b", after), f"{name}: {line}"
            if name.endswith("bytes"):
                assert re.match(r" (incomplete )?bytes", after), f"{name}: {line}"
    if {"topic", "partition"} <= set(fields):
        assert f"{fields['topic']}-{fields['partition']}" in lines[0]


@pytest.mark.parametrize(
    "cls",
    [
        known.cls
        for known in EVENT_TYPES.values()
        if known.cls.__module__.startswith("kafka_edu.") and known.kind is not Kind.FACT
    ],
    ids=lambda cls: cls.__name__,
)
def test_a_snapshot_or_a_sample_has_a_sentence_too(cls: type[Event]) -> None:
    """A screen may ask for the reason of a change that a snapshot brought."""
    line = sentence(example(cls, iter(range(101, 9999)))).line
    assert re.search(r"[a-z]{2,}", line)
    assert cls.__name__ not in line


def test_an_event_without_a_sentence_is_an_error_not_a_dump() -> None:
    class Unknown(tuple[object, ...]):
        pass

    with pytest.raises(LookupError, match="no sentence for Unknown"):
        sentence(Unknown())


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            LogTruncated(
                topic="x", partition=7, from_offset=1_200, to_offset=1_064, bytes=9_800, fully=False
            ),
            "cuts the log of x-7 back 1,200 → 1,064, 9,800 bytes",
        ),
        (
            LogTruncated(
                topic="x", partition=7, from_offset=1_200, to_offset=40, bytes=9_800, fully=True
            ),
            "empties the log of x-7 (9,800 bytes); it begins again at 40",
        ),
        (
            TransactionStateChanged(
                transactional_id="pay-1",
                producer_id=4000,
                producer_epoch=2,
                before="Ongoing",
                after="PrepareCommit",
                partitions=("x-7",),
                coordinator_epoch=3,
            ),
            "transaction of pay-1 with x-7: Ongoing → PrepareCommit (producer 4000, epoch 2)",
        ),
        (
            ProducerFenced(
                transactional_id="pay-1",
                producer_id=4000,
                producer_epoch=2,
                current_epoch=3,
                asked="AddPartitionsToTxn",
            ),
            "refuses AddPartitionsToTxn of an old producer with id pay-1, because its epoch 2 is"
            " over: the current one is 3",
        ),
        (
            ProducerFenced(
                transactional_id="pay-1",
                producer_id=4000,
                producer_epoch=2,
                current_epoch=3,
                asked=BY_ANOTHER,
                client_id="pay-b",
            ),
            "fences the producer of pay-1 with epoch 2, and aborts its transaction, because pay-b"
            " initialises with the same transactional id",
        ),
        (
            TransactionalIdInitialised(
                transactional_id="pay-1",
                producer_id=4000,
                producer_epoch=3,
                timeout_ms=60_000,
                client_id="pay-b",
                connection_id="127.0.0.1:9092-127.0.0.1:5-0",
            ),
            "pay-b initialises transactional id pay-1: it is producer 4000 with epoch 3, and its"
            " time-out is 60 s",
        ),
        (
            BatchFenced(
                topic="x",
                partition=7,
                producer_id=4000,
                producer_epoch=2,
                current_epoch=3,
                base_sequence=12,
            ),
            "refuses a batch of producer 4000 for x-7, because its epoch 2 is over: the log has"
            " seen epoch 3",
        ),
        (
            RequestFailed(
                connection_id="127.0.0.1:9092-127.0.0.1:5-0",
                correlation_id=9,
                api_key=3,
                api_version=8,
                error="KeyError('web')",
            ),
            "✕ failed to handle Metadata v8 #9, because KeyError('web')",
        ),
        (
            TimerTaskDemoted(
                timer="produce",
                task="web-0 #88",
                deadline_ms=350,
                left_ms=10,
                from_level=2,
                from_slot=17,
                level=1,
                slot=10,
            ),
            "timer produce: web-0 #88 comes down from slot 17 of level 2 to slot 10 of level 1,"
            " because 10 ms are left",
        ),
    ],
)
def test_the_facts_that_had_only_a_dump(event: Event, line: str) -> None:
    assert fact_text(event) == line


def test_a_proposed_isr_names_the_broker_that_is_the_reason() -> None:
    """The offsets differ between partitions, so the sentence shows the reason without offsets."""
    proposed = IsrChangeProposed(
        topic="web",
        partition=1,
        leader_epoch=4,
        before=(0,),
        after=(0, 1),
        zk_version=7,
        reason="1 has caught up: LEO 534, HW 534",
    )
    assert fact_text(proposed) == (
        "wants for web-1 the ISR {0} → {0,1}, because broker 1 has caught up"
    )


@pytest.mark.parametrize(
    ("isrs", "change"),
    [
        (((0, 1, 2), (0, 1)), "{0,1,2} → {0,1}"),
        (((2,), (2,)), "stays {2}, and no replica leads"),
    ],
)
def test_the_last_member_of_an_isr_stays_in_it(
    isrs: tuple[tuple[int, ...], tuple[int, ...]], change: str
) -> None:
    removed = ReplicaRemovedFromIsr(
        topic="web",
        partition=0,
        replica=2,
        isr_before=isrs[0],
        isr=isrs[1],
        leader=-1,
        leader_epoch=3,
        zk_path="/x",
        zk_version=4,
    )
    assert fact_text(removed) == f"ISR of web-0 {change}, because broker 2's replica is offline"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            LinkFaultChanged(ports=(9092,), delay_ms=200, cut=False),
            "its link to port 9092 is slow by 200 ms",
        ),
        (
            LinkFaultChanged(ports=(9092, 9093), delay_ms=0, cut=True),
            "its link to ports 9092, 9093 is cut",
        ),
        (LinkFaultChanged(ports=(9092,), delay_ms=0, cut=False), "its link to port 9092 is whole"),
        (
            LinkReset(ports=(9092,), connections=2),
            "loses its 2 connections to port 9092, because of a reset",
        ),
    ],
)
def test_the_fault_of_a_link_has_a_sentence(event: Event, words: str) -> None:
    assert sentence(event).before == words


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("recovery-point-offset-checkpoint", "writes the recovery points"),
        ("log-start-offset-checkpoint", "writes the log start offsets"),
    ],
)
def test_a_checkpoint_of_a_log_dir_has_a_sentence(file: str, words: str) -> None:
    line = fact_text(CheckpointWritten(log_dir="/data", file=file, entries=2))
    assert line == f"{words} of 2 partitions to its checkpoint"


def test_the_dashboards_own_observations_have_sentences() -> None:
    """The dashboard's own observations are not registered event types, but the ticker shows them
    like all other events.
    """
    seen = [LinkMade(pid=7), LinkLost(reason="closed"), ClusterKnown("demo", 5, "embedded")]
    own = [one for one in vars(link_events).values() if hasattr(one, "_fields")]
    assert {type(one) for one in seen} == set(own)
    assert [sentence(one).text() for one in seen] == [
        "sends its events (process 7)",
        "sends no more events",
        "reports its cluster: demo",
    ]


def test_two_processes_of_one_kind_have_two_names() -> None:
    sources = [
        *(Source.of_broker(number) for number in range(3)),
        *(Source(SourceKind.ZOOKEEPER, number) for number in range(1, 4)),
        *(Source(SourceKind.CLIENT, number) for number in range(3)),
        SUPERVISOR,
    ]
    names = [teller(source) for source in sources]
    assert names == ["b0", "b1", "b2", "zk", "zk2", "zk3", "cli", "cli1", "cli2", "sup"]
