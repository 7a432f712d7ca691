"""Wait for other processes and threads if no event reports their result, by looking again and
again.

If an event, a pipe or the end of a process reports it, wait for that instead
(`TraceClient.wait_for`, `threading.Event`, `Popen.wait`).
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

Seen = TypeVar("Seen")

#: Much longer than anything here takes. It is reached if something never happens, not if a busy
#: machine is slow.
PATIENCE_S: Final = 150
LOOK_EVERY_S: Final = 0.05


def wait_for(
    condition: Callable[[], Seen], what: str | Callable[[], str], patience_s: float = PATIENCE_S
) -> Seen:
    """Return the value of `condition` once it is true. Raise AssertionError with `what` if it never
    is.
    """
    end = time.monotonic() + patience_s
    while not (seen := condition()):
        if time.monotonic() > end:
            raise AssertionError(
                f"not within {patience_s:g} s: {what if isinstance(what, str) else what()}"
            )
        time.sleep(LOOK_EVERY_S)  # nothing would report it
    return seen
