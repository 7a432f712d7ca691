"""The form of an event as a sentence.

A sentence keeps its subject apart, so the same fact about many subjects becomes one line: `leads
web-0, web-3 and 2 more from now on`.
"""

from typing import NamedTuple


class Sentence(NamedTuple):
    """A sentence: `before`, the subjects, `after`.

    `reason` is set if the event itself knows its reason. `because` is the form used when this event
    is the reason of another.
    """

    before: str
    subject: str = ""
    after: str = ""
    reason: str = ""
    because: str = ""
    exact: str = ""
    """The whole fact with its numbers, where `text` leaves them out because many such facts share
    a line of the ticker.
    """
    loud: bool = True
    """Whether the sentence deserves a line of the ticker. Otherwise it appears only in chains of
    causes.
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
