"""Helpers that the pictures of all chapters share."""

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import graphviz
from rich.console import Console, RenderableType

from kafka_edu.instruments.drawings.figure import cell, new_figure, rendered, table, wrapped
from kafka_edu.instruments.presenter.script import Picture

#: The width of a picture. It must fit into the frame of a panel of 80 columns.
COLUMNS: Final = 78


def picture(names: Mapping[str, object], *parts: RenderableType) -> Picture:
    """Draw the parts below each other. Return the picture with the named values."""
    out = io.StringIO()
    console = Console(file=out, width=COLUMNS, force_terminal=True, color_system="standard")
    for part in parts:
        console.print(part, highlight=False)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return Picture("\n".join(lines), {name: str(value) for name, value in names.items()})


#: A cell of `grid` without text and colour. It leaves a gap.
GAP: Final = ("", "")


def grid(
    name: str,
    title: str,
    legend: Sequence[tuple[str, str]],
    rows: Iterable[tuple[str, Sequence[tuple[str, str]]]],
    head_width: int = 20,
) -> graphviz.Digraph:
    """Draw a table. Each row is a heading, then cells of (text, colour), or GAP.

    A heading is broken into lines of at most `head_width` characters.
    """
    figure = new_figure(name, title, legend)
    lines = []
    for head, cells in rows:
        line = f'<td border="0" align="left">{wrapped(head, head_width)}</td>'
        for text, colour in cells:
            line += cell(text, colour) if colour else '<td border="0" width="10"></td>'
        lines.append(line)
    figure.node(name, shape="plaintext", label=table(lines))
    return figure


def write_figure(folder: Path, name: str, figure: graphviz.Digraph) -> list[Path]:
    """Write NAME.dot and NAME.svg, and return their paths. Raises DrawingError if drawing fails."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / f"{name}.{kind}" for kind in ("dot", "svg")]
    for path in written:
        path.write_bytes(rendered(figure, path.suffix.lstrip(".")))
    return written
