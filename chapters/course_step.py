"""One step of the learner's way through the course."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from exercises.runner.progress import Record


class Step(NamedTuple):
    """One step of the course: a chapter or an exercise."""

    id: str
    """The step's name in the store of progress: `chapter-02` or `02-1`."""
    title: str
    kind: str
    minutes: int
    why: str
    command: str
    """The command that opens this step."""
    record: "Record"

    @property
    def done(self) -> bool:
        return bool(self.record.passed or self.record.gave_up)
