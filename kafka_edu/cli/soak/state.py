"""The results of a soak so far, in a file, so that an hour may consist of several parts.

The file is JSON. It is written next to the old one and renamed every few seconds, so a killed soak
loses seconds and not its hour.
"""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

VERSION: Final = 1
TROUBLES_KEPT: Final = 50
"""For each kind of trouble. The counts say how many there were in all."""


class SoakStateError(Exception):
    """The state file cannot be used. The message says why and what to do."""


@dataclass
class Part:
    """One run of the soak, from its cluster's start to its end. Some names say that they are ms."""

    began: str
    seconds: float = 0.0
    """How long the clients worked."""
    complete: bool = False
    """Whether acked and consumed records were compared at the end. A killed soak cannot do it."""
    acts: dict[str, int] = field(default_factory=dict)
    story: list[str] = field(default_factory=list)
    """The acts and their times, on the clock that stuck requests use."""
    records_sent: int = 0
    records_acked: int = 0
    records_refused: dict[str, int] = field(default_factory=dict)
    records_unanswered: int = 0
    """Records without a known result when the producer was stopped."""
    records_read: int = 0
    records_read_again: int = 0
    records_not_read_by_group: int = 0
    records_lost: int = 0
    client_timeouts: list[str] = field(default_factory=list)
    """librdkafka's own lines."""
    requests_sent: int = 0
    requests_answered: int = 0
    requests_closed: int = 0
    requests_by_kind: dict[str, int] = field(default_factory=dict)
    requests_stuck: int = 0
    requests_stuck_but_answered_later: int = 0
    stuck: list[str] = field(default_factory=list)
    longest_wait_ms: dict[str, float] = field(default_factory=dict)
    broker_stuck: int = 0
    """RequestStuck events of the brokers."""
    broker_stuck_events: list[dict[str, object]] = field(default_factory=list)
    loop_stalls: int = 0
    longest_stalls: list[dict[str, object]] = field(default_factory=list)
    """LoopStalled events, the longest first."""
    troubles: dict[str, int] = field(default_factory=dict)
    """The number of events of each kind of trouble."""
    trouble_events: list[dict[str, object]] = field(default_factory=list)
    trace_counts: dict[str, int] = field(default_factory=dict)
    longest_fsync_ms: float = 0.0
    disk_written_mb: int = 0
    not_in_sync_in_time: int = 0
    trends: list[dict[str, float]] = field(default_factory=list)
    """Memory and file handles: one Trend for each process that lived long enough."""
    samples: list[list[list[float]]] = field(default_factory=list)
    """For each trend its samples: seconds, RssAnon MB, file handles."""
    failed: str = ""
    """Why the part ended early, if it did; empty for Ctrl-C."""


@dataclass
class SoakState:
    """All parts so far."""

    parts: list[Part] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return sum(part.seconds for part in self.parts)

    @staticmethod
    def load(path: Path) -> "SoakState":
        """Read the file. Raises SoakStateError if it does not belong to a soak."""
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
        """Write the file in one step. Raises SoakStateError."""
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
