"""A list with a line for each partition. Internal topics in which nothing happens share one
line.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Generic, Protocol, TypeVar

from rich.text import Text

from ..model import Model
from ..view_model.partition_view import PartitionKey
from .drawn import Lines, Value, ink

_NARROW: Final = 100
"""In a list with fewer columns, names are cut to 12 instead of 32 characters."""


class OfPartition(Protocol):
    """The object that a line shows: a partition, or a replica's log."""

    @property
    def key(self) -> PartitionKey: ...


class PartitionChoice:
    """The partition that a screen shows. It stays chosen when the list changes."""

    def __init__(self) -> None:
        self.key: PartitionKey | None = None
        self.unfolded = False
        """Whether internal topics in which nothing happens are listed too."""


Row = TypeVar("Row", bound=OfPartition)


class PartitionLines(Lines, Generic[Row]):
    """Lists partitions; the cursor stays on the chosen one."""

    def __init__(self, model: Model, choice: PartitionChoice, id: str) -> None:
        super().__init__(id=id)
        self.model = model
        self.choice = choice
        self._rows: list[Row | int] = []
        """Each row is a partition, or the number of folded internal partitions."""
        self._longest = 0

    def put(self, rows: Sequence[Row], folded: int, longest: int, stays: bool = True) -> None:
        """List `rows`. If `folded` is above 0, one more line stands for that many partitions.

        `longest` is the length of the longest name. If the chosen partition is not listed, or must
        not stay chosen, the first one is chosen.
        """
        choice, keys = self.choice, [row.key for row in rows]
        self._rows = [*rows, folded] if folded else [*rows]
        self._longest = longest
        if choice.key not in keys or not stays:
            choice.key = keys[0] if keys else None
            self.cursor = 0
        elif choice.key is not None and not isinstance(self.row(self.cursor), int):
            self.cursor = keys.index(choice.key)

    @property
    def name_width(self) -> int:
        """Return the width of the column of names, with the cursor's two cells before it."""
        return min(max(self._longest, 9) + 4, 14 if self.size.width < _NARROW else 34)

    def draw_name(self, key: PartitionKey) -> Text:
        """Draw the column of names."""
        chosen, width = key == self.choice.key, self.name_width
        line = ink("▶ " if chosen else "  ", "bold")
        return line.append(key.fitted(width - 3).ljust(width - 2), style="bold" if chosen else "")

    def row(self, index: int) -> Row | int | None:
        return self._rows[index] if index < len(self._rows) else None

    def values(self, index: int) -> Mapping[str, Value | None]:
        row = self._rows[index]
        if isinstance(row, int):
            return dict.fromkeys(order.name for order in self.orders)
        return {"partition": f"{row.key.topic}-{row.key.partition:09}", **self.row_values(row)}

    def row_values(self, row: Row) -> Mapping[str, Value | None]:
        """Return column → the partition's value, for the columns other than its name."""
        raise NotImplementedError

    def cursor_moved(self) -> None:
        row = self.row(self.cursor)
        if row is not None and not isinstance(row, int):
            self.choice.key = row.key

    def action_choose(self) -> None:
        """Unfold the internal topics. On a partition, show the causes."""
        if isinstance(self.row(self.cursor), int):
            self.choice.unfolded = True
            self.tick()
            return
        super().action_choose()

    def count(self) -> int:
        return len(self._rows)
