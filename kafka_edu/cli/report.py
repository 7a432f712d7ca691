"""The common report of demos and benchmarks. It has figures, and targets that hold or do not hold.

The report is shown as a table. `--json FILE` writes the report as JSON.
"""

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kafka_edu.instruments.json_file import write_json

RELATIONS: Final[dict[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
}
HEADINGS: Final = ("What happened", "Why", "What to look at next")
MISSED: Final = "Some targets were missed: the tables above show which ones."


class Target(NamedTuple):
    """A measured value, and the limit that it should keep."""

    name: str
    value: float | None
    """The measured value. None if it was not measured. In this case the target does not hold."""
    relation: str
    target: float

    @property
    def holds(self) -> bool:
        return self.value is not None and RELATIONS[self.relation](self.value, self.target)


class Ending(NamedTuple):
    """The three sentences that a demo prints at its end."""

    happened: str
    why: str
    look_next: str


class Report:
    """The results of one run of the demo or benchmark `name`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.figures: dict[str, object] = {}
        self.targets: list[Target] = []
        self.ending: Ending | None = None
        """The last sentences of a demo. None for a benchmark."""

    def figure(self, name: str, value: object) -> None:
        """Add one number or other JSON value to the report. The name contains the unit."""
        if name in self.figures:
            raise ValueError(f"two figures are called {name}")
        self.figures[name] = value

    def target(self, name: str, value: float | None, relation: str, target: float) -> None:
        """Add a target: `value` should be `relation` (>=, <=, >, <, ==) `target`.

        `value` is None if it was not measured.
        """
        if relation not in RELATIONS:
            raise ValueError(f"{relation} is not one of {', '.join(RELATIONS)}")
        self.targets.append(Target(name, value, relation, target))

    def end(self, *, happened: str, why: str, look_next: str) -> None:
        """Set the three sentences that end a demo.

        `happened` says what happened if all targets hold.
        """
        self.ending = Ending(happened, why, look_next)

    @property
    def holds(self) -> bool:
        """Return whether all targets hold."""
        return all(target.holds for target in self.targets)

    def show(self, console: Console | None = None, figures: bool = True) -> None:
        """Print the targets, and the figures if `figures` is true.

        `figures` is false if the command has already shown them.
        """
        console = console or Console()
        if figures and self.figures:
            table = Table("figure", title=self.name, title_justify="left")
            table.add_column("value", justify="right")
            for name, value in self.figures.items():
                table.add_row(name, number(value))
            console.print(table)
        if self.targets:
            table = Table("target", title=f"{self.name}: targets", title_justify="left")
            table.add_column("value", justify="right")
            table.add_column("must be", justify="right")
            table.add_column("")
            for target in self.targets:
                verdict = "[green]holds[/]" if target.holds else "[red]does not hold[/]"
                table.add_row(
                    target.name,
                    number(target.value),
                    f"{target.relation} {number(target.target)}",
                    verdict,
                )
            console.print(table)
        self.show_ending(console)

    def show_ending(self, console: Console) -> None:
        """Print the ending if there is one.

        If a target does not hold, the first sentence says so.
        """
        if self.ending is None:
            return
        happened = self.ending.happened if self.holds else MISSED
        for heading, text in zip(HEADINGS, (happened, *self.ending[1:]), strict=True):
            console.print(f"[bold]{heading}:[/] {escape(text)}", soft_wrap=True, highlight=False)

    def write(self, path: str | Path) -> None:
        """Write the report as JSON, with the keys "name", "figures" and "targets".

        "figures" is {name: value}. "targets" is a list. Each target has the keys "name", "value",
        "relation", "target" and "holds". Raises ClickException if the file cannot be written.
        """
        document = {
            "name": self.name,
            "figures": self.figures,
            "targets": [{**target._asdict(), "holds": target.holds} for target in self.targets],
        }
        write_json(path, document)


def number(value: object) -> str:
    """Format a number with three significant digits below 100, and with no decimals from 100 on.

    Thousands are grouped. Other values are shown as they are. None is shown as a dash.
    """
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or value == int(value):
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
