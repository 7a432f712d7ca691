"""Draw facts of several processes: their causes as a tree, and messages between the processes."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

import graphviz

from kafka_edu.instruments.chain import folded
from kafka_edu.instruments.event_name import event_name
from kafka_edu.instruments.sentences import fact_text, teller
from kafka_edu.instruments.session_names import with_owners
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.reader import History, TreeNode, order

from .figure import BLUE, GREEN, GREY, RED, YELLOW, html, new_figure

BROKER_COLOURS: Final = (BLUE, YELLOW, GREEN, RED, "#cdb4db", "#ffd6a5")
"""The colours of the brokers, the same in all pictures.

A seventh broker has the first colour again.
"""
MOST_NAMED: Final = 4
"""The number of processes that a legend names. The others show only their short name."""
BOX_WIDTH: Final = 34


class Shown(NamedTuple):
    """A fact in a drawing, and those of its causes that are in the drawing too."""

    envelope: Envelope
    causes: tuple[Envelope, ...]
    """The causes of this fact that are drawn too, the latest first."""
    more: int = 0
    """The number of further facts of the same kind that this one stands for."""


def facts_around(history: History, envelope: Envelope, most: int) -> tuple[list[Shown], int]:
    """Return a fact with its causes and effects, in order of time. O(causes and effects).

    At most `most` effects are returned. The returned number is the number of effects that were left
    out.
    """
    shown: dict[int, Shown] = {}
    for tree in history.causes_tree(envelope):
        for one in _shown(tree):
            shown.setdefault(id(one.envelope), one)
    effects = [
        one for one in _shown(history.effects_tree(envelope)) if id(one.envelope) not in shown
    ]
    effects.sort(key=lambda one: order(one.envelope))
    for one in effects[:most]:
        shown[id(one.envelope)] = one
    return _causes_first(shown), sum(1 + one.more for one in effects[most:])


def _causes_first(shown: Mapping[int, Shown]) -> list[Shown]:
    """Return the facts in order of time, but with each cause before its effects.

    Two processes may read clocks that differ by some ms. Causes that are not shown are left out.
    """
    found: dict[int, Shown] = {}
    waiting = sorted(shown.values(), key=lambda one: order(one.envelope), reverse=True)
    while waiting:
        one = waiting[-1]
        causes = [cause for cause in one.causes if id(cause) in shown]
        first = [shown[id(cause)] for cause in causes if id(cause) not in found]
        if first and id(one.envelope) not in found:
            waiting += sorted(first, key=lambda one: order(one.envelope), reverse=True)
            continue
        waiting.pop()
        found.setdefault(id(one.envelope), one._replace(causes=tuple(causes)))
    return list(found.values())


def _shown(tree: TreeNode) -> Iterator[Shown]:
    waiting = [(tree, 0)]
    while waiting:
        node, more = waiting.pop()
        causes = sorted((link.cause for link in node.parents), key=order, reverse=True)
        yield Shown(node.envelope, tuple(causes), more)
        waiting += folded(node.children)


def colour_of(source: Source) -> str:
    """Return the colour of a process. A process that is no broker is grey."""
    return GREY if source.broker is None else BROKER_COLOURS[source.broker % len(BROKER_COLOURS)]


def legend_of(shown: Sequence[Shown]) -> list[tuple[str, str]]:
    sources = sorted({one.envelope.source for one in shown})
    return [(colour_of(source), f"{teller(source)}: {source}") for source in sources[:MOST_NAMED]]


_SIGNS: Final = "\u2300"
"""Characters from this one on, such as ★, are left out, because the font of a PNG lacks them."""


def words_of(one: Shown, history: History) -> str:
    text = with_owners(fact_text(one.envelope.event), history)
    text = "".join(sign for sign in text if sign < _SIGNS).strip()
    return f"{text} … and {one.more:,} more like it" if one.more else text


def causes_figure(
    title: str, shown: Sequence[Shown], history: History, of: Envelope
) -> graphviz.Digraph:
    """Draw facts as boxes, with an arrow from each cause to its effect.

    The box of the event `of` has a thick border.
    """
    figure = new_figure(
        "causes", title, legend_of(shown), rankdir="TB", nodesep="0.15", ranksep="0.25"
    )
    figure.attr("node", shape="box", style="filled")
    begin_us = shown[0].envelope.mono_us
    for one in shown:
        envelope = one.envelope
        since_ms = (envelope.mono_us - begin_us) / 1000
        head = f"<b>{event_name(envelope)}</b>  +{since_ms:,.1f} ms"
        lines = textwrap.wrap(words_of(one, history), BOX_WIDTH)
        words = "".join(f'{escape(line)}<br align="left"/>' for line in lines)
        figure.node(
            node_of(envelope),
            label=html(f'{head}<br align="left"/>{words}'),
            fillcolor=colour_of(envelope.source),
            penwidth="3" if envelope is of else "1",
        )
        for number, cause in enumerate(one.causes):
            style = "dashed" if number else "solid"
            figure.edge(node_of(cause), node_of(envelope), style=style)
    return figure


def node_of(envelope: Envelope) -> str:
    return event_name(envelope).replace("#", "_")
