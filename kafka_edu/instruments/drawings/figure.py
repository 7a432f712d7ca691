"""The parts that all figures share: a title, a legend, one font, one set of colours, one layout.

A figure is built from the objects of the package graphviz. The program graphviz-pure lays it out.
It is pinned and writes the same bytes on every machine. A `dot` that is installed is never asked,
so a committed SVG does not depend on who drew it.
"""

import shutil
import subprocess
import sysconfig
import textwrap
from collections.abc import Sequence
from html import escape
from typing import Final

import graphviz

BLUE: Final = "#a8dadc"
YELLOW: Final = "#ffd166"
GREEN: Final = "#b7e4c7"
RED: Final = "#f4acb7"
GREY: Final = "#e9ecef"
WHITE: Final = "#ffffff"
LOUD: Final = "#d00000"
"""The colour of lines that must be seen."""

KINDS: Final = ("svg", "png", "dot")
FONT: Final = {"fontname": "Helvetica", "fontsize": "14"}
_FAMILY: Final = "Helvetica, Arial, 'Liberation Sans', Arimo, sans-serif"
"""Fonts whose letters are as wide as those of the layout."""
PROGRAM: Final = "graphviz-pure"
LAYOUT_LIMIT_S: Final = 120


class DrawingError(Exception):
    """A figure cannot be laid out. The message says why, and what to do."""


def new_figure(
    name: str,
    title: str,
    legend: Sequence[tuple[str, str]] = (),
    *,
    engine: str = "dot",
    **attributes: str,
) -> graphviz.Digraph:
    """Return an empty figure with its title and what its colours mean.

    `legend` has pairs of a colour and what it stands for; `attributes` are those of the graph. With
    the engine `neato` each node brings its place, as `pos`.
    """
    boxes = "".join(
        f'<td border="1" bgcolor="{colour}"> {escape(text)} </td>' for colour, text in legend
    )
    rows = f"<tr><td>{escape(title)}</td></tr>"
    if legend:
        rows += f'<tr><td><table border="0" cellspacing="6"><tr>{boxes}</tr></table></td></tr>'
    figure = graphviz.Digraph(name, engine=engine)
    label = html(f'<table border="0">{rows}</table>')
    figure.attr("graph", **FONT, labelloc="t", label=label, **attributes)
    figure.attr("node", **FONT)
    figure.attr("edge", **FONT)
    return figure


def html(markup: str) -> str:
    """Return a label of Graphviz's HTML, which the package does not quote."""
    return f"<{markup}>"


def table(rows: Sequence[str], padding: int = 3) -> str:
    """Return rows of cells as a label; each row is the text of its `<td>`s."""
    lines = "".join(f"<tr>{row}</tr>" for row in rows)
    look = f'border="0" cellborder="1" cellspacing="0" cellpadding="{padding}"'
    return html(f"<table {look}>{lines}</table>")


def cell(text: str, colour: str = WHITE, *, bold: bool = False, plain: bool = False) -> str:
    """Return one cell; `plain` is a caption at the left, without a border. `text` is escaped."""
    words = escape(text).replace("\n", '<br align="left"/>') or " "
    if bold and words.strip():
        words = f"<b>{words}</b>"
    look = 'border="0" align="left"' if plain else f'bgcolor="{colour}"'
    return f"<td {look}>{words}</td>"


def caption(text: str, columns: int) -> str:
    """Return a row with bold words over `columns` cells of a table."""
    return f'<td border="0" align="left" colspan="{max(columns, 1)}"><b>{escape(text)}</b></td>'


def wrapped(text: str, width: int) -> str:
    """Return the text for a cell, in lines of at most `width` characters. A phone shows a figure of
    470 points so that one can still read it.
    """
    return "".join(f'{escape(line)}<br align="left"/>' for line in textwrap.wrap(text, width))


def rendered(figure: graphviz.Digraph, kind: str = "svg") -> bytes:
    """Lay the figure out, and return it as SVG, PNG or DOT. Raises DrawingError."""
    if kind not in KINDS:
        raise DrawingError(f"there is no kind of picture '{kind}'; there are: {', '.join(KINDS)}")
    if kind == "dot":
        return bytes(figure.source, "utf-8")
    program = layout_program()
    words = [program, f"-K{figure.engine}", f"-T{kind}"]
    if figure.engine == "neato":
        words.append("-n2")  # every node has its place
    try:
        done = subprocess.run(
            words, input=bytes(figure.source, "utf-8"), capture_output=True, timeout=LAYOUT_LIMIT_S
        )
    except subprocess.TimeoutExpired as error:
        raise DrawingError(
            f"the layout took more than {LAYOUT_LIMIT_S} s; draw less of it, or try again when the"
            " machine is less busy"
        ) from error
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise DrawingError(f"{PROGRAM} could not lay the figure out: {last or done.returncode}")
    if kind == "png":
        return done.stdout
    return done.stdout.replace(b'"Helvetica,sans-Serif"', bytes(f'"{_FAMILY}"', "utf-8"))


def layout_program() -> str:
    """Return the path of graphviz-pure: that of this Python, or else one on PATH. Raises
    DrawingError if there is none.
    """
    here = shutil.which(PROGRAM, path=sysconfig.get_path("scripts")) or shutil.which(PROGRAM)
    if here is None:
        raise DrawingError(
            f"the program {PROGRAM} is missing, which lays figures out; it comes with the Python"
            f" package of that name: pip install {PROGRAM}"
        )
    return here
