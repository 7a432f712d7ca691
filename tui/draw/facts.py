"""Pictures of facts: the causes and effects of one fact."""

from collections.abc import Sequence
from typing import Final

import graphviz

from kafka_edu.instruments.drawings import processes
from kafka_edu.instruments.drawings import time_space as drawing
from kafka_edu.instruments.event_name import UnknownEventError, event_name, find_event
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.reader import History

from .past import NothingToDrawError, Past

MOST_EFFECTS: Final = 12


def chain(past: Past, words: Sequence[str]) -> graphviz.Digraph:
    history, found, shown, left = _around(past, words)
    more = f", {left:,} effects not drawn" if left else ""
    title = f"Why {event_name(found)} {found.name}{more}"
    return processes.causes_figure(title, shown, history, found)


def time_space(past: Past, words: Sequence[str]) -> graphviz.Digraph:
    history, found, shown, _ = _around(past, words)
    title = f"{event_name(found)} {found.name}, its causes and effects"
    return drawing.time_space_figure(title, shown, history, found)


def _around(
    past: Past, words: Sequence[str]
) -> tuple[History, Envelope, list[processes.Shown], int]:
    try:
        found = find_event(past.until, words)
    except UnknownEventError as error:
        raise NothingToDrawError(str(error)) from error
    history = History(past.until)
    shown, left = processes.facts_around(history, found, MOST_EFFECTS)
    return history, found, shown, left
