"""One step of the way through the course."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from exercises.runner.progress import Record


class Step(NamedTuple):
    """One thing to do: a chapter, or an exercise."""

    id: str
    """Its name in the store of progress: `chapter-02` or `02-1`."""
    title: str
    kind: str
    minutes: int
    why: str
    command: str
    """The command that goes there."""
    record: "Record"

    @property
    def done(self) -> bool:
        return bool(self.record.passed or self.record.gave_up)
