"""The parts that the pictures of all chapters share."""

import io
import logging
import shutil
import subprocess
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Final

from rich.console import Console, RenderableType

from kafka_edu.instruments.presenter.script import Picture

#: A picture must fit beside the frame of a panel of 80 columns.
COLUMNS: Final = 78


def picture(names: Mapping[str, object], *parts: RenderableType) -> Picture:
    """Draw the parts below each other, and bind the names."""
    out = io.StringIO()
    console = Console(file=out, width=COLUMNS, force_terminal=True, color_system="standard")
    for part in parts:
        console.print(part, highlight=False)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    return Picture("\n".join(lines), {name: str(value) for name, value in names.items()})


@contextmanager
def no_log() -> Iterator[None]:
    """Keep what simulated brokers would write into their logs off the learner's terminal."""
    logger = logging.getLogger("kafka_edu")
    handler = logging.NullHandler()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def quoted(text: str) -> str:
    """Return the text as a string of DOT."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def head(name: str, title: str, legend: Sequence[tuple[str, str]] = ()) -> str:
    """Return the first lines of a figure's DOT: its title, what its colours mean, and one font.
    `legend` has pairs of a colour and what it stands for.
    """
    boxes = "".join(
        f'<td border="1" width="18" bgcolor="{colour}"></td><td align="left">{escape(text)} </td>'
        for colour, text in legend
    )
    rows = f"<tr><td>{escape(title)}</td></tr>"
    if legend:
        rows += f'<tr><td><table border="0"><tr>{boxes}</tr></table></td></tr>'
    font = 'fontname="Helvetica", fontsize=14'
    return (
        f"digraph {name} {{\n"
        f'  graph [{font}, labelloc=t, label=<<table border="0">{rows}</table>>];\n'
        f"  node [{font}]; edge [{font}];\n"
    )


def wrapped(text: str, width: int) -> str:
    """Return the text for a cell, in lines of at most `width` characters. A phone shows a figure of
    470 points so that one can still read it.
    """
    return "".join(f'{escape(line)}<br align="left"/>' for line in textwrap.wrap(text, width))


def write_figure(folder: Path, name: str, source: str) -> list[Path]:
    """Write NAME.dot, and NAME.svg where Graphviz' `dot` is installed; return what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / f"{name}.dot"]
    written[0].write_text(source, encoding="utf-8")
    program = shutil.which("dot")
    if program is not None:
        drawn = folder / f"{name}.svg"
        subprocess.run(
            [program, "-Tsvg", "-o", str(drawn), str(written[0])], check=True, timeout=60
        )
        written.append(drawn)
    return written
