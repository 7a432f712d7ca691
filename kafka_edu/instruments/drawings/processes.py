"""Facts of several processes as pictures: their causes as a tree, and their messages in time."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

import graphviz

from kafka_edu.instruments.chain import folded
from kafka_edu.instruments.event_name import event_name, short_name
from kafka_edu.instruments.sentences import fact_text
from kafka_edu.instruments.session_names import with_owners
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.reader import History, TreeNode, order

from .figure import BLUE, GREEN, GREY, LOUD, RED, YELLOW, html, new_figure

BROKER_COLOURS: Final = (BLUE, YELLOW, GREEN, RED, "#cdb4db", "#ffd6a5")
"""A broker has one colour in all pictures; a seventh broker has the first one's."""
MOST_NAMED: Final = 4
"""A legend names so many processes; the others have their short name in the picture."""
BOX_WIDTH: Final = 34
ROW_WIDTH: Final = 28


class Shown(NamedTuple):
    """A fact that is drawn."""

    envelope: Envelope
    causes: tuple[Envelope, ...]
    """Those that are drawn too, the latest first."""
    more: int = 0
    """Facts of the same kind that this one stands for."""


def facts_around(history: History, envelope: Envelope, most: int) -> tuple[list[Shown], int]:
    """Return the causes of a fact, itself, and at most `most` of what followed, in order of time;
    and how many were left out. O(causes and effects).
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
    """Return the facts in order of time, but none before its causes: the clocks that two processes
    read may differ by some ms. Causes that are not shown are left out.
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
    """Return the colour of a process; those that are no brokers are grey."""
    return GREY if source.broker is None else BROKER_COLOURS[source.broker % len(BROKER_COLOURS)]


def _legend(shown: Sequence[Shown]) -> list[tuple[str, str]]:
    sources = sorted({one.envelope.source for one in shown})
    return [
        (colour_of(source), f"{short_name(source)}: {source}") for source in sources[:MOST_NAMED]
    ]


_SIGNS: Final = "\u2300"
"""From here on Unicode has signs such as ★, which the font of a PNG lacks. They are left out."""


def _words(one: Shown, history: History) -> str:
    text = with_owners(fact_text(one.envelope.event), history)
    text = "".join(sign for sign in text if sign < _SIGNS).strip()
    return f"{text} … and {one.more:,} more like it" if one.more else text


def causes_figure(
    title: str, shown: Sequence[Shown], history: History, of: Envelope
) -> graphviz.Digraph:
    """Draw facts as boxes, with an arrow from each cause to its effect. `of` has a thick border."""
    figure = new_figure(
        "causes", title, _legend(shown), rankdir="TB", nodesep="0.15", ranksep="0.25"
    )
    figure.attr("node", shape="box", style="filled")
    begin_us = shown[0].envelope.mono_us
    for one in shown:
        envelope = one.envelope
        since_ms = (envelope.mono_us - begin_us) / 1000
        head = f"<b>{event_name(envelope)}</b>  +{since_ms:,.1f} ms"
        lines = textwrap.wrap(_words(one, history), BOX_WIDTH)
        words = "".join(f'{escape(line)}<br align="left"/>' for line in lines)
        figure.node(
            _name(envelope),
            label=html(f'{head}<br align="left"/>{words}'),
            fillcolor=colour_of(envelope.source),
            penwidth="3" if envelope is of else "1",
        )
        for number, cause in enumerate(one.causes):
            style = "dashed" if number else "solid"
            figure.edge(_name(cause), _name(envelope), style=style)
    return figure


def _name(envelope: Envelope) -> str:
    return event_name(envelope).replace("#", "_")


# Messages in time. Places are points, as Graphviz has them; y grows upwards.

_COLUMN: Final = 46
_LINE: Final = 17
_ROW_GAP: Final = 8
_TEXT: Final = 208
_TIME: Final = 62


def time_space_figure(
    title: str, shown: Sequence[Shown], history: History, of: Envelope
) -> graphviz.Digraph:
    """Draw each process as a line, time downwards, a row a fact. An arrow is a message, or what
    else made a fact of one process the cause of another's. Rows are not to scale: each has its ms.
    """
    sources = sorted({one.envelope.source for one in shown})
    figure = new_figure(
        "messages",
        title,
        _legend(shown),
        engine="neato",
        splines="line",
        outputorder="edgesfirst",
    )
    figure.attr("node", shape="circle", width="0.16", fixedsize="true", label="", style="filled")
    figure.attr("edge", arrowsize="0.7")
    begin_us = shown[0].envelope.mono_us
    rows, bottom = _rows(shown, history)
    xs = {source: _TIME + (at + 0.5) * _COLUMN for at, source in enumerate(sources)}
    text_x = _TIME + len(sources) * _COLUMN + _TEXT / 2 + 6
    for source, x in xs.items():
        head, foot = f"head {short_name(source)}", f"foot {short_name(source)}"
        look = {"shape": "box", "width": "0.5", "height": "0.28", "fillcolor": colour_of(source)}
        figure.node(head, label=short_name(source), pos=f"{x},0!", **look)
        figure.node(foot, pos=f"{x},{bottom}!", shape="point", width="0.02")
        figure.edge(head, foot, arrowhead="none", color="#999999")
    for one, (y, lines) in zip(shown, rows, strict=True):
        envelope = one.envelope
        figure.node(
            _name(envelope),
            pos=f"{xs[envelope.source]},{y}!",
            fillcolor=colour_of(envelope.source),
            penwidth="3" if envelope is of else "1",
        )
        height = len(lines) * _LINE / 72
        since_ms = (envelope.mono_us - begin_us) / 1000
        when = f"{since_ms:,.1f} ms"
        plain = {"shape": "plaintext", "style": "", "fixedsize": "true"}
        figure.node(
            f"at {_name(envelope)}", label=when, pos=f"{_TIME / 2 - 6},{y}!", width="0.9", **plain
        )
        words = "".join(f'{escape(line)}<br align="left"/>' for line in lines)
        words = f"<b>{words}</b>" if envelope is of else words
        cells = (
            f'<table border="0" cellborder="0" cellspacing="0" cellpadding="0"><tr><td width='
            f'"{_TEXT}" align="left" balign="left">{words}</td></tr></table>'
        )
        figure.node(
            f"words {_name(envelope)}",
            label=html(cells),
            pos=f"{text_x},{y}!",
            width=f"{_TEXT / 72:.2f}",
            height=f"{height:.2f}",
            **plain,
        )
        for cause in one.causes:
            if cause.source != envelope.source:
                figure.edge(
                    _name(cause), _name(envelope), color=LOUD if envelope is of else "black"
                )
    return figure


def _rows(shown: Sequence[Shown], history: History) -> tuple[list[tuple[float, list[str]]], float]:
    """Return each row's place and its lines of text, and the place of the end."""
    rows: list[tuple[float, list[str]]] = []
    y = -28.0
    for one in shown:
        lines = textwrap.wrap(_words(one, history), ROW_WIDTH) or [""]
        height = len(lines) * _LINE
        rows.append((y - height / 2, lines))
        y -= height + _ROW_GAP
    return rows, y
