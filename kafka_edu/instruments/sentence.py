"""The parts of a sentence that describes an event.

A sentence keeps the name of the thing that it is about, such as a partition, apart from its other
words. So the same fact about several partitions becomes one line: `leads web-0, web-3 and 2 more
from now on`.
"""

from typing import NamedTuple


class Sentence(NamedTuple):
    """A sentence about an event: the words `before` the subject, the subject, the words `after` it.

    `reason` is set if the event itself contains its reason. `because` is the form used when this
    event is the reason of another event.
    """

    before: str
    subject: str = ""
    after: str = ""
    reason: str = ""
    because: str = ""
    exact: str = ""
    """The complete sentence with all numbers, if `text` leaves numbers out.

    `text` leaves them out so that many facts of the same kind can share one line of the ticker.
    """
    loud: bool = True
    """Whether the sentence is shown in the ticker. A sentence that is not loud appears only in
    chains.
    """

    def text(self, subjects: str | None = None) -> str:
        return " ".join(
            part
            for part in (self.before, self.subject if subjects is None else subjects, self.after)
            if part
        )

    @property
    def line(self) -> str:
        """Return the fact as one line of plain text, with its numbers and its reason."""
        if self.exact:
            return self.exact
        return f"{self.text()}, because {self.reason}" if self.reason else self.text()
