"""A candidate: a part that decides, step by step, how a broker runs for the controller's office.

Usually there is none, and `KafkaController` runs by itself. A learner's code may be one (lab 05-1).
It hears what has come and says what to do next. The controller does it, and brings the answer:

    ("look",)                → watch and read /controller        → ("office", id or None, mine)
    ("read_epoch",)          → read /controller_epoch            → ("epoch", epoch, version)
    ("create_epoch",)        → create it                         → ("created",) or ("node_exists",)
    ("run", epoch, version)  → create /controller, set the epoch → ("won",), ("node_exists",) or
                                                                   ("bad_version",)
    ("delete", version)      → delete /controller                → ("deleted",), ("no_node",) or
                                                                   ("bad_version",)
    ("resign",)              → leave the office                  → ("resigned",)
    ("lead", epoch)          → take the office
    ("wait",)                → nothing until the next event
"""

from typing import Final, Protocol

Came = tuple[object, ...]
Operation = tuple[object, ...]

START: Final[Came] = ("start",)
FIRED: Final[Came] = ("fired",)
SESSION_LOST: Final[Came] = ("session_lost",)
WAIT: Final[Operation] = ("wait",)
MOST_STEPS: Final = 60
"""The largest number of operations that may follow from one event. Losing a race costs three."""


class Candidate(Protocol):
    """Decides for one broker."""

    def next(self, came: Came) -> Operation | None:
        """Return the next operation, of a form that can be done. None: nobody decides any more, so
        the controller runs by itself from now on.
        """

    def endless(self) -> None:
        """It was asked MOST_STEPS times for one event, and is given up."""


def candidate_of(broker_id: int) -> Candidate | None:
    """Return what decides for this broker; None: the controller itself."""
    del broker_id
    return None
