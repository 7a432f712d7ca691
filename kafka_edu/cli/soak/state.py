"""Keep the results of a soak in a file, so that one hour may consist of several parts.

The file is JSON. Every few seconds, a new file is written next to the old one and renamed. So a
soak that is killed loses only a few seconds.
"""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

VERSION: Final = 1
TROUBLES_KEPT: Final = 50
"""The maximum number of events that are kept for each kind of trouble. The counts include all
events.
"""


class SoakStateError(Exception):
    """The state file cannot be used. The message says why, and what the user can do."""


@dataclass
class Part:
    """One run of the soak, from its cluster's start to its end.

    Times are in seconds unless named `_ms`.
    """

    began: str
    seconds: float = 0.0
    """Seconds for which the clients worked."""
    complete: bool = False
    """Whether the acked and the read records were compared at the end.

    False if the soak was killed.
    """
    acts: dict[str, int] = field(default_factory=dict)
    story: list[str] = field(default_factory=list)
    """The kills and pauses with their times.

    The descriptions of stuck requests use the same clock.
    """
    records_sent: int = 0
    records_acked: int = 0
    records_refused: dict[str, int] = field(default_factory=dict)
    records_unanswered: int = 0
    """Number of records without a known result when the producer was stopped."""
    records_read: int = 0
    records_read_again: int = 0
    records_not_read_by_group: int = 0
    records_lost: int = 0
    client_timeouts: list[str] = field(default_factory=list)
    """librdkafka's log lines about requests that timed out."""
    requests_sent: int = 0
    requests_answered: int = 0
    requests_closed: int = 0
    requests_by_kind: dict[str, int] = field(default_factory=dict)
    requests_stuck: int = 0
    requests_stuck_but_answered_later: int = 0
    stuck: list[str] = field(default_factory=list)
    longest_wait_ms: dict[str, float] = field(default_factory=dict)
    broker_stuck: int = 0
    """Number of RequestStuck events that the brokers emitted."""
    broker_stuck_events: list[dict[str, object]] = field(default_factory=list)
    loop_stalls: int = 0
    longest_stalls: list[dict[str, object]] = field(default_factory=list)
    """The longest LoopStalled events. The longest comes first."""
    troubles: dict[str, int] = field(default_factory=dict)
    """Kind of event → number of events of this kind."""
    trouble_events: list[dict[str, object]] = field(default_factory=list)
    trace_counts: dict[str, int] = field(default_factory=dict)
    longest_fsync_ms: float = 0.0
    disk_written_mb: int = 0
    not_in_sync_in_time: int = 0
    trends: list[dict[str, float]] = field(default_factory=list)
    """Memory and open files: one Trend for each process that lived long enough."""
    samples: list[list[list[float]]] = field(default_factory=list)
    """The samples of each trend. A sample is [seconds, RssAnon in MB, open files]."""
    failed: str = ""
    """Why the part ended early. Empty if it did not end early, or if Ctrl-C ended it."""


@dataclass
class SoakState:
    """The results of all parts so far."""

    parts: list[Part] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return sum(part.seconds for part in self.parts)

    @staticmethod
    def load(path: Path) -> "SoakState":
        """Read the file. Raises SoakStateError if it is not the state of a soak."""
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            if document["version"] != VERSION:
                raise SoakStateError(
                    f"{path} was written by another version of the soak; choose another file"
                )
            parts = [Part(**fields) for fields in document["parts"]]
        except OSError as error:
            raise SoakStateError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise SoakStateError(
                f"{path} is not the state of a soak ({error}); choose another file"
            ) from error
        return SoakState(parts)

    def save(self, path: Path) -> None:
        """Replace the file with the current state.

        Raises SoakStateError if it cannot be written.
        """
        aside = path.with_name(path.name + ".new")
        try:
            aside.write_text(
                json.dumps({"version": VERSION, "parts": [asdict(part) for part in self.parts]})
                + "\n",
                encoding="utf-8",
            )
            os.replace(aside, path)
        except OSError as error:
            raise SoakStateError(f"cannot write {path}: {error.strerror}") from error
