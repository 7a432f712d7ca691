"""The common report of demos and benchmarks: figures, and targets that hold or not.

It is shown as a table, and written as JSON for `--json FILE`.
"""

import json
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

RELATIONS: Final[dict[str, Callable[[float, float], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
}
HEADINGS: Final = ("What happened", "Why", "What to look at next")
MISSED: Final = "Not everything went as it should. The targets above say what did not."


class Target(NamedTuple):
    """The wanted value of a figure."""

    name: str
    value: float | None
    """None: not measured, or not yet. Such a target does not hold."""
    relation: str
    target: float

    @property
    def holds(self) -> bool:
        return self.value is not None and RELATIONS[self.relation](self.value, self.target)


class Ending(NamedTuple):
    """The three sentences that end a demo."""

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
        """The last lines of a demo. Benchmarks have none."""

    def figure(self, name: str, value: object) -> None:
        """Keep one number or other JSON value. The name contains its unit."""
        if name in self.figures:
            raise ValueError(f"two figures are called {name}")
        self.figures[name] = value

    def target(self, name: str, value: float | None, relation: str, target: float) -> None:
        """Keep one number that should be `relation` (>=, <=, >, <, ==) `target`. None if it was not
        measured.
        """
        if relation not in RELATIONS:
            raise ValueError(f"{relation} is none of {', '.join(RELATIONS)}")
        self.targets.append(Target(name, value, relation, target))

    def end(self, *, happened: str, why: str, look_next: str) -> None:
        """Set the three sentences that end a demo. `happened` assumes that all targets hold."""
        self.ending = Ending(happened, why, look_next)

    @property
    def holds(self) -> bool:
        """Return whether all targets hold."""
        return all(target.holds for target in self.targets)

    def show(self, console: Console | None = None, figures: bool = True) -> None:
        """Print the targets, and the figures unless the benchmark has shown them already."""
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
            table.add_column("is to be", justify="right")
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
        """Print the ending, if any. If a target does not hold, its first sentence says so."""
        if self.ending is None:
            return
        happened = self.ending.happened if self.holds else MISSED
        for heading, text in zip(HEADINGS, (happened, *self.ending[1:]), strict=True):
            console.print(f"[bold]{heading}:[/] {escape(text)}", soft_wrap=True, highlight=False)

    def write(self, path: str | Path) -> None:
        """Write {"name", "figures": {name: value}, "targets": [{"name", "value", "relation",
        "target", "holds"}]}.
        """
        document = {
            "name": self.name,
            "figures": self.figures,
            "targets": [{**target._asdict(), "holds": target.holds} for target in self.targets],
        }
        Path(path).write_text(
            json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )


def number(value: object) -> str:
    """Format a number: three significant figures below 100, no fraction above, grouped thousands.

    Other values are shown as they are, None as a dash.
    """
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or value == int(value):
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
