"""The results of a search by seeds, one line of JSON for each result. So a search can be stopped
and continued later.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar


class Result(Protocol):
    """A NamedTuple of values that JSON can hold."""

    def _asdict(self) -> dict[str, Any]: ...


R = TypeVar("R", bound=Result)


class ResultFileError(Exception):
    """The file cannot be used: why, and what to do."""


class ResultFile(Generic[R]):
    """One file of results. `make` builds a result from the fields of a line."""

    def __init__(
        self, path: Path, make: Callable[[dict[str, Any]], R], code: str | None = None
    ) -> None:
        """With `code`, each line must have this value in its field `code`: the version of the code
        that gave the result.
        """
        self._path = path
        self._make = make
        self._code = code

    def load(self) -> list[R]:
        """Return the results in the file. If the last line is incomplete, because the search was
        killed while it wrote, this line is removed from the file. Raises ResultFileError.
        """
        try:
            lines = self._path.read_text(encoding="utf-8").splitlines(keepends=True)
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise ResultFileError(f"cannot read {self._path}: {error}") from error
        found: list[R] = []
        for number, line in enumerate(lines, 1):
            try:
                fields = json.loads(line)
                found.append(self._make(fields))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                if number == len(lines) and not line.endswith("\n"):
                    self._path.write_text("".join(lines[:-1]), encoding="utf-8")
                    break
                raise ResultFileError(
                    f"line {number} of {self._path} is not the result of a seed ({error}); choose"
                    " another file"
                ) from error
            if self._code is not None and fields["code"] != self._code:
                raise ResultFileError(
                    f"line {number} of {self._path} is from another version of the code, with which"
                    " a seed may give another run; choose another file"
                )
        return found

    def add(self, result: R) -> None:
        """Write one more result. Raises ResultFileError."""
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result._asdict()) + "\n")
        except OSError as error:
            raise ResultFileError(f"cannot write {self._path}: {error}") from error
