"""A reducer gets only the event types that it names, and needs no others."""

import ast
import gzip
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kafka_edu.instruments import rebalances, request_times
from kafka_edu.trace.event import EVENT_TYPES, Envelope
from kafka_edu.trace.reader import read_recording
from tui.model import Model
from tui.view_model import (
    learners_view,
    load_view,
    replication_view,
    requests_view,
    transactions_view,
    wheels_view,
    wire_view,
)

CHAPTERS = Path(__file__).resolve().parents[3] / "chapters"
RECORDINGS = ("ch02_timing_wheel", "ch06_graceful_shutdown", "ch00_first_lesson")
#: The reducers that read some types of event, by their name in the model.
SELECTIVE = (
    "wheels", "replication", "loads", "learners", "groups", "requests", "wire", "transactions"
)  # fmt: skip


def events(chapter: str) -> list[Envelope]:
    with gzip.open(CHAPTERS / chapter / "recording.jsonl.gz") as file:
        return list(read_recording(file))


def plain(thing: object, seen: frozenset[int] = frozenset()) -> object:
    """Return a value as plain data that can be compared: objects without `==` by their fields."""
    if id(thing) in seen:
        return "..."
    seen |= {id(thing)}
    if isinstance(thing, dict):
        return [(plain(key, seen), plain(value, seen)) for key, value in thing.items()]
    if isinstance(thing, list | tuple) or type(thing).__name__ == "deque":
        return [plain(one, seen) for one in thing]  # type: ignore[attr-defined]
    if type(thing).__eq__ is object.__eq__ and hasattr(thing, "__dict__"):
        return (type(thing).__name__, plain(vars(thing), seen))
    return repr(thing)


class Everything(Model):
    """A model whose reducers all get every event."""

    def apply(self, envelopes: Any) -> None:
        for envelope in envelopes:
            for name in ("cluster", *SELECTIVE):
                getattr(self, name).apply(envelope)
        self.advance(envelope.mono_us)


@pytest.mark.parametrize("chapter", RECORDINGS)
def test_a_view_that_gets_only_what_it_reads_is_as_if_it_got_all(chapter: str) -> None:
    told = events(chapter)
    routed, everything = Model("x"), Everything("x")
    routed.apply(told)
    everything.apply(told)
    for name in SELECTIVE:
        assert plain(getattr(routed, name)) == plain(getattr(everything, name)), name


def test_the_recordings_change_the_views_that_are_compared() -> None:
    made = Model("x")
    for chapter in RECORDINGS:
        made.apply(events(chapter))
    fresh = Model("x")
    for name in ("wheels", "replication", "loads", "groups", "requests"):
        assert plain(getattr(made, name)) != plain(getattr(fresh, name)), name


def mentioned(module: ModuleType) -> Iterator[str]:
    """Yield the event types that a module matches."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name):
            yield node.cls.id
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            yield from (one.id for one in ast.walk(node.args[1]) if isinstance(one, ast.Name))


@pytest.mark.parametrize(
    ("module", "reads"),
    [
        (wheels_view, wheels_view.WheelsView.READS),
        (replication_view, replication_view.ReplicationView.READS),
        (load_view, load_view.LoadsView.READS),
        (learners_view, learners_view.LearnersView.READS),
        (transactions_view, transactions_view.TransactionsView.READS),
        (wire_view, wire_view.WireView.READS),
        (requests_view, requests_view.RequestsView.READS),
        (rebalances, rebalances.Rebalances.READS),
        (request_times, request_times.RequestTimesView.READS),
    ],
)
def test_each_type_that_a_view_matches_is_one_that_it_reads(
    module: ModuleType, reads: frozenset[type]
) -> None:
    names = {kind.__name__ for kind in reads}
    known = {*EVENT_TYPES, "LinkLost", "LinkMade"}
    assert names <= known
    missing = {name for name in mentioned(module) if name in known} - names
    assert missing == set()


def test_a_restored_model_goes_on_with_the_restored_views() -> None:
    told = events("ch02_timing_wheel")
    whole, wound_back = Model("x"), Model("x")
    whole.apply(told)
    wound_back.apply(told[: len(told) // 2])
    state = wound_back.state()
    wound_back.apply(told[len(told) // 2 :])
    wound_back.restore(state)
    wound_back.apply(told[len(told) // 2 :])
    assert plain(wound_back.wheels) == plain(whole.wheels)
    assert plain(wound_back.requests) == plain(whole.requests)
