"""Helpers that the pictures of all chapters share."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import graphviz
from rich.console import Console, RenderableType

from kafka_edu.instruments.drawings.figure import rendered
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


def write_figure(folder: Path, name: str, figure: graphviz.Digraph) -> list[Path]:
    """Write NAME.dot and NAME.svg, and return their paths. Raises DrawingError if drawing fails."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / f"{name}.{kind}" for kind in ("dot", "svg")]
    for path in written:
        path.write_bytes(rendered(figure, path.suffix.lstrip(".")))
    return written
