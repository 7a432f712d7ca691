"""Wait for a condition as long as the observed state still changes.

On a busy machine the duration of a step is unknown. So a demo stops waiting only when the observed
state has not changed for STANDSTILL_S seconds. The time in which this process had to wait for a
processor core does not count.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from typing import Final, TypeVar

from kafka_edu.supervisor.cluster import ClusterError
from kafka_edu.supervisor.patience import Patience

Seen = TypeVar("Seen")

#: Seconds without a change before a wait gives up. The longest steps take less time: a session
#: expires, a broker starts, a client tries again.
STANDSTILL_S: Final = 180.0
_LOOK_EVERY_S: Final = 0.05
_FULL_BYTES: Final = 64 * 1024


class Standstill(ClusterError):
    """The observed state has stopped changing.

    The message says what was awaited and what was seen last.
    """

    def __init__(self, message: str, full_disk: str = "") -> None:
        """Create the error.

        `full_disk` is a folder on a disk that was full at that moment, or "".
        """
        super().__init__(message)
        self.full_disk = full_disk


def _patience(limit_s: float) -> Patience:
    return Patience(limit_s, lambda: (os.getpid(),))


class Progress:
    """The state that one wait observes. Each change starts the time limit again."""

    def __init__(
        self,
        what: str,
        standstill_s: float = STANDSTILL_S,
        patience: Callable[[float], Patience] = _patience,
    ) -> None:
        """Begin a wait.

        `what` comes after "waited for" in the message, for example `the replicas of web to be in
        sync`.
        """
        self._what = what
        self._standstill_s = standstill_s
        self._new_patience = patience
        self._patience = patience(standstill_s)
        self._state: object = None

    def note(self, state: object) -> None:
        """Record the state that is seen now. States are compared with ==.

        Raises Standstill if the state has not changed for too long.
        """
        if state != self._state:
            self._state = state
            self._patience = self._new_patience(self._standstill_s)
        elif self._patience.left_s() <= 0:
            raise Standstill(
                f"nothing changed for {self._standstill_s:g} s while the demo waited for"
                f" {self._what}; seen last: {self._state}",
                full_disk(),
            )


def full_disk() -> str:
    """Return the folder of temporary files if its disk is full, otherwise "".

    The cluster of a demo is in this folder. The cluster is removed when the demo ends, so call this
    function before the demo ends.
    """
    folder = tempfile.gettempdir()
    try:
        return folder if shutil.disk_usage(folder).free < _FULL_BYTES else ""
    except OSError:
        return ""


def wait_while_moving(
    look: Callable[[], Seen],
    done: Callable[[Seen], bool],
    what: str,
    look_every_s: float = _LOOK_EVERY_S,
) -> Seen:
    """Call `look` again and again until `done` accepts its result, and return the result.

    Raises Standstill if the result has not changed for too long.
    """
    progress = Progress(what)
    while not done(seen := look()):
        progress.note(seen)
        time.sleep(look_every_s)
    return seen
