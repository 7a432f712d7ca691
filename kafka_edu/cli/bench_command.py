"""Run a benchmark, which compares kafka-edu with another program such as Apache Kafka.

A benchmark is a module of the package `benchmarks` with the constants NAME and HELP and a function
`main(argv: list[str]) -> int`. The other modules of that package are helpers.
"""

import ast
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import click

from kafka_edu.cli.command_table import BENCHMARKS, read_group


class Benchmark(NamedTuple):
    """One benchmark.

    `find_benchmarks` reads the fields from the source of the module, without importing the module.
    """

    name: str
    help: str
    module: str

    def load(self) -> Callable[[list[str]], int]:
        main: Callable[[list[str]], int] = importlib.import_module(self.module).main
        return main


def find_benchmarks() -> dict[str, Benchmark]:
    """Return all benchmarks by name. The names are sorted."""
    found = {}
    for entry in read_group(BENCHMARKS).values():
        if not entry.found():
            continue
        package = importlib.import_module(entry.module)
        for folder in package.__path__:
            for module in pkgutil.iter_modules([folder]):
                constants = dict(_constants(Path(folder) / f"{module.name}.py"))
                if "NAME" in constants:
                    found[constants["NAME"]] = Benchmark(
                        constants["NAME"],
                        constants.get("HELP", ""),
                        f"{entry.module}.{module.name}",
                    )
    return dict(sorted(found.items()))


def _constants(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each string constant at the top level of a module."""
    if not path.is_file():
        return
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                yield name, text
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=str(text))):
                yield name, text


@click.command(context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("name", required=False)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def bench(name: str | None, options: tuple[str, ...]) -> None:
    """Run the benchmark NAME with its OPTIONS, or list all benchmarks.

    `--help` after NAME explains its options.
    """
    known = find_benchmarks()
    if name is None or name.startswith("-"):
        for benchmark in known.values():
            click.echo(f"{benchmark.name:14} {benchmark.help}")
        return
    if name not in known:
        raise click.UsageError(
            f"there is no benchmark '{name}'; there are:"
            f" {', '.join(known) or 'none in this installation'}"
        )
    raise SystemExit(known[name].load()(list(options)))
