"""The table of commands: the entry-point group `kafka_edu.commands` of pyproject.toml.

After an installation, Python's package metadata holds this table, and other packages can add
commands to it. A checkout has no metadata, so the same table is read from pyproject.toml. Therefore
kafka_edu imports none of the packages that contain commands (dashboard, chapters, exercises). A
module with a command is imported only when the command is called. For the list of commands, the
module's docstring is read from its source file.
"""

import ast
import importlib
import importlib.metadata
import importlib.util
import tomllib
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.python_process import checkout

COMMANDS: Final = "kafka_edu.commands"
BENCHMARKS: Final = "kafka_edu.benchmarks"
DEMOS: Final = "kafka_edu.demos"


class CommandEntry(NamedTuple):
    """One row of the table: the module and the attribute of a command."""

    name: str
    module: str
    attribute: str
    """Name of the click command in the module. Empty if the row names only a package."""

    def found(self) -> bool:
        """Return whether the module is installed.

        This imports only the packages above the module.
        """
        return _find(self.module) is not None

    def help_line(self) -> str:
        """Return the first paragraph of the module's docstring, or a note if it is missing."""
        spec = _find(self.module)
        if spec is None or spec.origin is None:
            return "(not in this installation)"
        docstring = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8")))
        return " ".join(docstring.partition("\n\n")[0].split()) if docstring else ""

    def load(self) -> object:
        """Import the module and return the command.

        Raises ImportError if the module or the attribute is missing.
        """
        module = importlib.import_module(self.module)
        if not self.attribute:
            return module
        try:
            return vars(module)[self.attribute]
        except KeyError:
            raise ImportError(f"{self.module} has no {self.attribute}") from None


def _find(module: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(module)
    except ModuleNotFoundError:  # a parent package is missing
        return None


def read_group(group: str) -> dict[str, CommandEntry]:
    """Return the commands or demos of an entry-point group by name.

    In a checkout, the entries have the order of pyproject.toml. Otherwise the entries are sorted by
    name.
    """
    folder = checkout()
    rows = (
        _from_pyproject(folder / "pyproject.toml", group)
        if folder is not None
        else _from_metadata(group)
    )
    return {name: CommandEntry(name, *_split(value)) for name, value in rows.items()}


def _split(value: str) -> tuple[str, str]:
    module, _, attribute = value.partition(":")
    return module, attribute


def _from_metadata(group: str) -> dict[str, str]:
    return {
        entry.name: entry.value
        for entry in sorted(
            importlib.metadata.entry_points(group=group), key=lambda entry: entry.name
        )
    }


def _from_pyproject(path: Path, group: str) -> dict[str, str]:
    """Read an entry-point group from pyproject.toml.

    The installed package names are replaced by the folders that hold these packages in a checkout.
    """
    with path.open("rb") as file:
        document = tomllib.load(file)
    folders = {
        package: folder
        for folder, package in document["tool"]["hatch"]["build"]["targets"]["wheel"][
            "sources"
        ].items()
    }
    rows: dict[str, str] = document["project"]["entry-points"][group]
    result = {}
    for name, value in rows.items():
        package, dot, rest = value.partition(".")
        result[name] = folders.get(package, package) + dot + rest
    return result
