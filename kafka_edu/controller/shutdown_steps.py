"""Decide, step by step, how a broker requests its controlled shutdown from the controller.

(Kafka: the loop in KafkaServer.controlledShutdown; book §6.4.2; spec G1.)

`ShutdownSteps.next` gets the result of the last operation and returns the next operation.
`ControlledShutdown` performs that operation and passes the result to the next call:

    ("find",)        → read who the controller is          → ("controller", id or None)
    ("connect", id)  → close the old connection, open one  → ("connected",) or ("failed",)
    ("ask",)         → send ControlledShutdown             → ("answer", error, remaining) or
                                                             ("failed",)
    ("wait", ms)     → wait                                → ("waited",)
    ("stop", done)   → stop; `done` says whether all leaderships have moved

`remaining` are the names of the partitions that the broker still leads, such as "web-0". The first
call gets ("begin",).

Next, in the controller: `ActiveController.controlled_shutdown` (active_controller.py).
"""

from typing import Final

from kafka_edu.common.errors import Errors

Came = tuple[object, ...]
Operation = tuple[object, ...]

BEGIN: Final[Came] = ("begin",)
FAILED: Final[Came] = ("failed",)
NOBODY: Final = -1


class ShutdownSteps:
    """Requests the shutdown until the controller has moved all leaderships, or retries are used up.

    The broker makes at most `max_retries` attempts, and waits `retry_backoff_ms` between two
    attempts. Each attempt first looks up which broker is the controller, because the controller may
    have changed. The connection is kept while the controller is the same and nothing has failed.
    O(1) a step.
    """

    def __init__(self, max_retries: int, retry_backoff_ms: int) -> None:
        self._left = max_retries
        self._retry_backoff_ms = retry_backoff_ms
        self._connected_to = NOBODY

    def next(self, came: Came) -> Operation:
        """Return the next operation. Raises ValueError if `came` is no valid result."""
        match came:
            case ("begin",) | ("waited",):
                return self._attempt()
            case ("controller", int(found)):
                if found == self._connected_to:
                    return ("ask",)
                self._connected_to = found
                return "connect", found
            case ("connected",):
                return ("ask",)
            case ("answer", Errors.NONE.name, []):
                return "stop", True
            case ("failed",):
                self._connected_to = NOBODY
                return self._again()
            case ("answer", _, _) | ("controller", None):
                return self._again()
        raise ValueError(f"{came!r} cannot come")

    def _attempt(self) -> Operation:
        if self._left <= 0:
            return "stop", False
        self._left -= 1
        return ("find",)

    def _again(self) -> Operation:
        return ("wait", self._retry_backoff_ms) if self._left > 0 else ("stop", False)
