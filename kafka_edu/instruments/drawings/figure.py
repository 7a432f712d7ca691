"""The parts that all figures share: a title, a legend, one font, one set of colours, one layout.

A figure is built from the objects of the package graphviz. The program graphviz-pure makes the
image. The version of this program is pinned, and it writes the same bytes on every machine. The
program `dot` is never used, even if it is installed. So a committed SVG is the same on every
machine.
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
"""The colour of lines that must catch the eye."""

KINDS: Final = ("svg", "png", "dot")
FONT: Final = {"fontname": "Helvetica", "fontsize": "14"}
_FAMILY: Final = "Helvetica, Arial, 'Liberation Sans', Arimo, sans-serif"
"""Fonts with the same widths of letters as the font that is used to compute the layout."""
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
    """Return an empty figure with a title and a legend.

    `legend` has pairs: a colour, and what that colour means. `attributes` are set on the graph.
    With the engine `neato` each node must give its own position, as `pos`.
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
    """Mark a text as a label in Graphviz's HTML, so that the package graphviz does not quote it."""
    return f"<{markup}>"


def table(rows: Sequence[str], padding: int = 3) -> str:
    """Return a table as a label. Each row is given as the text of its `<td>` cells."""
    lines = "".join(f"<tr>{row}</tr>" for row in rows)
    look = f'border="0" cellborder="1" cellspacing="0" cellpadding="{padding}"'
    return html(f"<table {look}>{lines}</table>")


def cell(text: str, colour: str = WHITE, *, bold: bool = False, plain: bool = False) -> str:
    """Return one table cell with this text, which is escaped.

    A `plain` cell is a caption at the left, without a border.
    """
    words = escape(text).replace("\n", '<br align="left"/>') or " "
    if bold and words.strip():
        words = f"<b>{words}</b>"
    look = 'border="0" align="left"' if plain else f'bgcolor="{colour}"'
    return f"<td {look}>{words}</td>"


def caption(text: str, columns: int) -> str:
    """Return a table row with bold words that spans `columns` cells."""
    return f'<td border="0" align="left" colspan="{max(columns, 1)}"><b>{escape(text)}</b></td>'


def wrapped(text: str, width: int) -> str:
    """Break a text for a cell into lines of at most `width` characters.

    Narrow cells keep a figure readable on a phone, whose screen is 470 points wide.
    """
    return "".join(f'{escape(line)}<br align="left"/>' for line in textwrap.wrap(text, width))


def rendered(figure: graphviz.Digraph, kind: str = "svg") -> bytes:
    """Lay the figure out and return its bytes: SVG, PNG or DOT. Raises DrawingError."""
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
    """Return the path of the program graphviz-pure. Raises DrawingError if there is none.

    First the program in this Python's own folder is looked for, then the program on PATH.
    """
    here = shutil.which(PROGRAM, path=sysconfig.get_path("scripts")) or shutil.which(PROGRAM)
    if here is None:
        raise DrawingError(
            f"the program {PROGRAM} is missing, which lays figures out; it comes with the Python"
            f" package of that name: pip install {PROGRAM}"
        )
    return here
