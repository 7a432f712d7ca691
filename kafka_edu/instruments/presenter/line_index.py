"""Find the line of a key in a TOML file. Python's TOML reader does not keep line numbers."""

import re
from typing import Final

Path = tuple[str | int, ...]

_HEADER: Final = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_.\-]+)\s*\]\]?")
_KEY: Final = re.compile(r"\s*([A-Za-z0-9_\-]+)\s*[=.]")
_QUOTES: Final = re.compile(r'"""|\'\'\'')


class LineIndex:
    """The line number of each key, found by its path in the file.

    `("step", 2, "wait", 0, "event")` is the key `event` of the first wait of the third step.
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[Path, int] = {(): 1}
        self._counts: dict[Path, int] = {}
        table: Path = ()
        inside = ""
        for number, line in enumerate(text.splitlines(), 1):
            if not inside:
                if header := _HEADER.match(line):
                    table = self._table(header[2].split("."), header[1] == "[[", number)
                elif key := _KEY.match(line):
                    self._lines.setdefault((*table, key[1]), number)
            for quotes in _QUOTES.findall(line):
                inside = "" if inside == quotes else inside or quotes

    def _table(self, names: list[str], is_list: bool, number: int) -> Path:
        path: Path = ()
        for name in names[:-1]:
            path = (*path, name)
            if path in self._counts:  # in a list of tables, the last table counts
                path = (*path, self._counts[path] - 1)
        path = (*path, names[-1])
        if is_list:
            self._counts[path] = self._counts.get(path, 0) + 1
            self._lines.setdefault(path, number)
            path = (*path, self._counts[path] - 1)
        self._lines.setdefault(path, number)
        return path

    def line(self, path: Path) -> int:
        """Return the line number of this key, or of the nearest table around it."""
        while path not in self._lines:
            path = path[:-1]
        return self._lines[path]
