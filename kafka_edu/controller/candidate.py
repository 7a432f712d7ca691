"""A candidate decides, step by step, how a broker tries to become the controller.

Usually there is no candidate, and `KafkaController` decides by itself. In lab 05-1 a learner's code
is the candidate. `Candidate.next` gets the latest result and returns the next operation.
`KafkaController` performs that operation and passes the result to the next call. (`mine` says
whether this broker's session has created the znode.)

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

Next: `KafkaController._carry_out` (kafka_controller.py) performs the operations.
"""

from typing import Final, Protocol

Came = tuple[object, ...]
Operation = tuple[object, ...]

START: Final[Came] = ("start",)
FIRED: Final[Came] = ("fired",)
SESSION_LOST: Final[Came] = ("session_lost",)
WAIT: Final[Operation] = ("wait",)
MOST_STEPS: Final = 60
"""The maximum number of operations that may follow from one event.

A lost race for /controller takes three operations.
"""


class Candidate(Protocol):
    """The interface of a candidate; it decides for one broker."""

    def next(self, came: Came) -> Operation | None:
        """Return the next operation. `came` says what happened last: the result of the last
        operation, or START, FIRED or SESSION_LOST.

        None means that this candidate makes no more decisions. From then on the controller decides
        by itself.
        """

    def endless(self) -> None:
        """Record that one event led to MOST_STEPS operations, without "wait" or "lead".

        The controller no longer uses this candidate.
        """


def candidate_of(broker_id: int) -> Candidate | None:
    """Return the candidate of this broker; None if the controller decides by itself."""
    del broker_id
    return None
