"""Wait as long as something moves.

On a busy machine nobody can say how long a step may take. So a wait of a demo gives up only when
what it looks at has not changed for STANDSTILL_S. The time does not count in which this process
itself waited for a core.
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

#: Longer than any single step takes: a session must expire, a broker must start, a client tries
#: again.
STANDSTILL_S: Final = 180.0
_LOOK_EVERY_S: Final = 0.05
_FULL_BYTES: Final = 64 * 1024


class Standstill(ClusterError):
    """Nothing moved any more. The message says what was waited for, and what was seen last."""

    def __init__(self, message: str, full_disk: str = "") -> None:
        """`full_disk` is a folder on a disk that was full at that moment, or empty."""
        super().__init__(message)
        self.full_disk = full_disk


def _patience(limit_s: float) -> Patience:
    return Patience(limit_s, lambda: (os.getpid(),))


class Progress:
    """The value that one wait watches. A change begins the time again."""

    def __init__(
        self,
        what: str,
        standstill_s: float = STANDSTILL_S,
        patience: Callable[[float], Patience] = _patience,
    ) -> None:
        """`what` follows "waited for": `the replicas of web to be in sync`."""
        self._what = what
        self._standstill_s = standstill_s
        self._new_patience = patience
        self._patience = patience(standstill_s)
        self._state: object = None

    def note(self, state: object) -> None:
        """Note what is seen now; states are compared with ==. Raises Standstill if it has not
        changed for too long.
        """
        if state != self._state:
            self._state = state
            self._patience = self._new_patience(self._standstill_s)
        elif self._patience.left_s() <= 0:
            raise Standstill(
                f"nothing moved for {self._standstill_s:g} s while the demo waited for"
                f" {self._what}; seen last: {self._state}",
                full_disk(),
            )


def full_disk() -> str:
    """Return the folder of temporary files, where a demo's cluster lives, if its disk is full; ""
    if it is not. The folder of a cluster that has ended is removed, so ask before.
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
    """Look again and again until what is seen is `done`, and return it. Raises Standstill."""
    progress = Progress(what)
    while not done(seen := look()):
        progress.note(seen)
        time.sleep(look_every_s)
    return seen
