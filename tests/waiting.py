"""To wait for what other processes and threads bring about, where nothing tells of it: it is looked
at again and again. Where an event, a pipe or the end of a process tells, wait for that
(`TraceClient.wait_for`, `threading.Event`, `Popen.wait`).
"""

import time
from collections.abc import Callable
from typing import Final, TypeVar

Seen = TypeVar("Seen")

#: Much more than anything here takes: it is reached by what never comes, not by what is slow on a
#: busy machine.
PATIENCE_S: Final = 60
LOOK_EVERY_S: Final = 0.05


def wait_for(
    condition: Callable[[], Seen], what: str | Callable[[], str], patience_s: float = PATIENCE_S
) -> Seen:
    """What `condition` returns, once it is true. Raises AssertionError with `what` when it does not
    become true.
    """
    end = time.monotonic() + patience_s
    while not (seen := condition()):
        if time.monotonic() > end:
            raise AssertionError(
                f"not within {patience_s:g} s: {what if isinstance(what, str) else what()}"
            )
        time.sleep(LOOK_EVERY_S)  # there is nothing that would tell
    return seen
