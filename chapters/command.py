"""Chapters: read, run, watch, break, do. `chapter 02` tells the timing wheel and then shows it in a
live broker.
"""

import importlib
import pkgutil
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import click
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table

from kafka_edu.cli.report import Report

PACKAGE: Final = __name__.rpartition(".")[0]
FOLDER: Final = Path(__file__).parent
PICTURE_COLUMNS: Final = 120


class Demo(Protocol):
    """What a chapter's demo.py has."""

    def tell(self, console: Console, figures: Path | None) -> dict[str, object]:
        """Tell the chapter with the real classes in a time of their own; write figures into the
        folder; returns the numbers told.
        """
        ...

    def watch(self, console: Console, seconds: float) -> dict[str, object]:
        """Show the same in a live cluster; returns what was seen. Raises ClusterError."""
        ...


class Chapter(NamedTuple):
    """A package chNN_slug."""

    number: str
    name: str

    @property
    def readme(self) -> Path:
        return FOLDER / self.name / "README.md"

    @property
    def title(self) -> str:
        return self.readme.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")

    def demo(self) -> Demo:
        module: Demo = importlib.import_module(f"{PACKAGE}.{self.name}.demo")
        return module


def find_chapters() -> dict[str, Chapter]:
    """number → chapter, in order: those that have a text. Others have only demos yet."""
    names = sorted(
        module.name
        for module in pkgutil.iter_modules([str(FOLDER)])
        if module.ispkg and (FOLDER / module.name / "README.md").is_file()
    )
    return {name[2:4]: Chapter(name[2:4], name) for name in names}


@click.command()
@click.argument("number", required=False)
@click.option("--read", is_flag=True, help="Show the chapter's text instead of running it.")
@click.option("--live/--no-live", default=True, help="Whether to go on to a live cluster.")
@click.option(
    "--seconds",
    type=click.FloatRange(1, 600),
    default=8.0,
    help="How long to watch the live cluster at each of its steps.",
)
@click.option(
    "--figures",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the chapter's figures there: DOT, and SVG where Graphviz is.",
)
@click.option(
    "--screenshot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="OUT.svg",
    help="Draw all that is told into a picture, too.",
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the numbers there.",
)
def chapter(
    number: str | None,
    read: bool,
    live: bool,
    seconds: float,
    figures: Path | None,
    screenshot: Path | None,
    json_file: Path | None,
) -> None:
    """Run chapter NUMBER: told with the book's figures by the real classes, then watched in a live
    broker. Without a number, list them.
    """
    known, console = (
        find_chapters(),
        Console(record=True, width=PICTURE_COLUMNS) if screenshot is not None else Console(),
    )
    if number is None:
        table = Table("chapter", "title")
        for one in known.values():
            table.add_row(one.number, one.title)
        console.print(table)
        return
    chosen = known.get(number.zfill(2))
    if chosen is None:
        raise click.UsageError(f"there is no chapter '{number}'; there are: {', '.join(known)}")
    if read:
        console.print(Markdown(chosen.readme.read_text(encoding="utf-8")))
        return
    demo = chosen.demo()
    report = Report(f"chapter-{chosen.number}")
    report.figure("told", demo.tell(console, figures))
    if live:
        from kafka_edu.supervisor.cluster import ClusterError

        try:
            report.figure("live", demo.watch(console, seconds))
        except ClusterError as error:
            raise click.ClickException(f"the live cluster failed: {error}") from error
    if screenshot is not None:
        console.save_svg(str(screenshot), title=f"kafka-edu chapter {chosen.number}")
    if json_file is not None:
        report.write(json_file)
