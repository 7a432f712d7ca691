"""The decisions of a broker that asks the controller to let it go, step by step (Kafka: the loop in
KafkaServer.controlledShutdown; book §6.4.2; spec G1).

It hears what has come and says what to do next. `ControlledShutdown` does it, and brings the
answer:

    ("find",)        → read who the controller is          → ("controller", id or None)
    ("connect", id)  → close the old connection, open one  → ("connected",) or ("failed",)
    ("ask",)         → send ControlledShutdown             → ("answer", error, remaining) or
                                                             ("failed",)
    ("wait", ms)     → wait                                → ("waited",)
    ("stop", done)   → stop; `done` says whether the controller has let it go

`remaining` are the partitions that the broker still leads, such as "web-0". The first thing that
comes is ("begin",).
"""

from typing import Final

from kafka_edu.common.errors import Errors

Came = tuple[object, ...]
Operation = tuple[object, ...]

BEGIN: Final[Came] = ("begin",)
FAILED: Final[Came] = ("failed",)
NOBODY: Final = -1


class ShutdownSteps:
    """Asks until the controller has moved all leaderships away, `max_retries` times in all, and
    waits `retry_backoff_ms` between two attempts. O(1) a step.

    Each attempt looks the controller up again, because it may have changed. The connection is kept
    while the controller is the same and nothing has failed.
    """

    def __init__(self, max_retries: int, retry_backoff_ms: int) -> None:
        self._left = max_retries
        self._retry_backoff_ms = retry_backoff_ms
        self._connected_to = NOBODY

    def next(self, came: Came) -> Operation:
        """Return the next operation. Raises ValueError if `came` is nothing that can come."""
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
