"""Draw the messages between processes in time: each process is a line, each message an arrow.

Positions are in points, as in Graphviz. The coordinate y grows upwards.
"""

import textwrap
from collections.abc import Callable, Sequence
from html import escape
from typing import Final

import graphviz

from kafka_edu.instruments.sentences import teller
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.reader import History

from .figure import LOUD, html, new_figure
from .processes import Shown, colour_of, legend_of, node_of, words_of

ROW_WIDTH: Final = 28
_COLUMN: Final = 46
_LINE: Final = 17
_ROW_GAP: Final = 8
_TEXT: Final = 208
_TIME: Final = 62


def time_space_figure(
    title: str,
    shown: Sequence[Shown],
    history: History,
    of: Envelope,
    words_for: Callable[[Shown, History], str] = words_of,
) -> graphviz.Digraph:
    """Draw each process as a vertical line. Time runs downwards, and each fact has a row.

    An arrow goes from a cause in one process to its effect in another process; mostly this is a
    message. The distance between rows does not show how much time passes. Each row says its time in
    ms.
    """
    sources = sorted({one.envelope.source for one in shown})
    figure = new_figure(
        "messages",
        title,
        legend_of(shown),
        engine="neato",
        splines="line",
        outputorder="edgesfirst",
    )
    figure.attr("node", shape="circle", width="0.16", fixedsize="true", label="", style="filled")
    figure.attr("edge", arrowsize="0.7")
    begin_us = shown[0].envelope.mono_us
    rows, bottom = _rows([words_for(one, history) for one in shown])
    xs = {source: _TIME + (at + 0.5) * _COLUMN for at, source in enumerate(sources)}
    text_x = _TIME + len(sources) * _COLUMN + _TEXT / 2 + 6
    for source, x in xs.items():
        head, foot = f"head {teller(source)}", f"foot {teller(source)}"
        look = {"shape": "box", "width": "0.5", "height": "0.28", "fillcolor": colour_of(source)}
        figure.node(head, label=teller(source), pos=f"{x},0!", **look)
        figure.node(foot, pos=f"{x},{bottom}!", shape="point", width="0.02")
        figure.edge(head, foot, arrowhead="none", color="#999999")
    for one, (y, lines) in zip(shown, rows, strict=True):
        envelope = one.envelope
        figure.node(
            node_of(envelope),
            pos=f"{xs[envelope.source]},{y}!",
            fillcolor=colour_of(envelope.source),
            penwidth="3" if envelope is of else "1",
        )
        height = len(lines) * _LINE / 72
        since_ms = (envelope.mono_us - begin_us) / 1000
        when = f"{since_ms:,.1f} ms"
        plain = {"shape": "plaintext", "style": "", "fixedsize": "true"}
        figure.node(
            f"at {node_of(envelope)}", label=when, pos=f"{_TIME / 2 - 6},{y}!", width="0.9", **plain
        )
        words = "".join(f'{escape(line)}<br align="left"/>' for line in lines)
        words = f"<b>{words}</b>" if envelope is of else words
        cells = (
            f'<table border="0" cellborder="0" cellspacing="0" cellpadding="0"><tr><td width='
            f'"{_TEXT}" align="left" balign="left">{words}</td></tr></table>'
        )
        figure.node(
            f"words {node_of(envelope)}",
            label=html(cells),
            pos=f"{text_x},{y}!",
            width=f"{_TEXT / 72:.2f}",
            height=f"{height:.2f}",
            **plain,
        )
        for cause in one.causes:
            if cause.source != envelope.source:
                figure.edge(
                    node_of(cause), node_of(envelope), color=LOUD if envelope is of else "black"
                )
    return figure


def _rows(words: Sequence[str]) -> tuple[list[tuple[float, list[str]]], float]:
    """Return the position and the lines of text of each row, and the position of the lower end."""
    rows: list[tuple[float, list[str]]] = []
    y = -28.0
    for text in words:
        lines = textwrap.wrap(text, ROW_WIDTH) or [""]
        height = len(lines) * _LINE
        rows.append((y - height / 2, lines))
        y -= height + _ROW_GAP
    return rows, y
