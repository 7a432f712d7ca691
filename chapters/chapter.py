"""The chapters: packages chNN_slug with a page, a script for the presenter, and a recording."""

import importlib
import importlib.util
import pkgutil
from collections.abc import Collection, Mapping
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

from kafka_edu.instruments.presenter.script import Picture, Script
from kafka_edu.instruments.presenter.script_reader import read_script

PACKAGE: Final = __name__.rpartition(".")[0]
FOLDER: Final = Path(__file__).parent


class Chapter(NamedTuple):
    """A package chNN_slug that has a page. The others hold demos only."""

    number: str
    """Two digits."""
    name: str
    """Of the package, as `ch02_timing_wheel`."""

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    @property
    def page(self) -> Path:
        return self.folder / "README.md"

    @property
    def script_file(self) -> Path:
        return self.folder / "script.toml"

    @property
    def recording(self) -> Path:
        """One run of the script, for `--replay`."""
        return self.folder / "recording.jsonl.gz"

    @property
    def title(self) -> str:
        return self.text().partition("\n")[0].lstrip("# ")

    def text(self) -> str:
        return self.page.read_text(encoding="utf-8")

    def pictures(self) -> Mapping[str, Picture]:
        """Draw the pictures that its script shows, by name. It takes less than a second."""
        module = self._module()
        drawn: Mapping[str, Picture] = module.draw_all() if module is not None else {}
        return drawn

    def figures(self) -> Mapping[str, str]:
        """Return the DOT source of its figures, by name."""
        module = self._module()
        sources: Mapping[str, str] = module.figures() if module is not None else {}
        return sources

    def _module(self) -> ModuleType | None:
        """Return the module `pictures` of the package; a chapter need not have one."""
        name = f"{PACKAGE}.{self.name}.pictures"
        return importlib.import_module(name) if importlib.util.find_spec(name) else None

    def script(self, screens: Collection[str]) -> Script:
        """Read the script, which may go to these screens. Raises ScriptError."""
        return read_script(self.script_file, screens, self.pictures())


def find_chapters() -> dict[str, Chapter]:
    """Return the chapters by their number, in order."""
    names = sorted(
        module.name
        for module in pkgutil.iter_modules([str(FOLDER)])
        if module.ispkg and (FOLDER / module.name / "README.md").is_file()
    )
    return {name[2:4]: Chapter(name[2:4], name) for name in names}
