"""The known state of one transactional id, and of one partition that has transactions."""

from collections import OrderedDict, deque
from typing import Final, NamedTuple

from kafka_edu.trace.event import Envelope

from .figures import duration
from .partition_view import PartitionKey

ONGOING: Final = "Ongoing"
PREPARED: Final = {"PrepareCommit": "commit", "PrepareAbort": "abort"}
"""For each state in which the end is decided and markers are being written: how it ends."""
COMPLETE: Final = {"CompleteCommit": "committed", "CompleteAbort": "aborted"}
WRITTEN, WAITS, UNKNOWN = "written", "waits", "?"
"""The states of a marker. Any other text is the error of its last attempt."""
KEPT_FENCES: Final = 10
KEPT_OWNERS: Final = 6
NO_BROKER: Final = -1


class Fence(NamedTuple):
    """A producer that was fenced: another producer replaced it, or its request was refused."""

    at_us: int
    epoch: int
    words: str
    """The fenced producer, the one that fenced it, and how that happened, in words."""
    envelope: Envelope


class Ended(NamedTuple):
    """The last transaction of an id that has ended."""

    at_us: int
    how: str
    """`committed` or `aborted`."""
    partitions: int
    open_us: int | None
    """The time from the beginning to the decision. None if the beginning is not known."""
    markers_us: int | None
    """The time from the decision to the last marker. None if the dashboard did not see the
    decision.
    """


class TransactionView:
    """One transactional id, as its coordinator reports it."""

    def __init__(self, transactional_id: str, seen_us: int) -> None:
        self.transactional_id = transactional_id
        self.seen_us = seen_us
        """The time of the first event about the present transaction."""
        self.producer_id = -1
        self.epoch = -1
        self.coordinator = NO_BROKER
        self.coordinator_epoch = -1
        self.log_partition = -1
        self.inherited = False
        """Whether the coordinator is new, so that the state is the one that the old coordinator
        reported.
        """
        self.state = ""
        self.pending = ""
        self.partitions: tuple[str, ...] = ()
        self.timeout_ms = -1
        self.started_us: int | None = None
        """When the transaction began, by the coordinator's clock."""
        self.changed_us: int | None = None
        """When the current state began. None if no event has reported it."""
        self.markers: dict[str, str] = {}
        """Partition → the state of its marker. Empty if no marker is needed now."""
        self.marker_brokers: dict[str, int] = {}
        """Partition → the broker that last answered a request to write its marker."""
        self.ended: Ended | None = None
        self.fences: deque[Fence] = deque(maxlen=KEPT_FENCES)
        self.owners: OrderedDict[tuple[int, int], str] = OrderedDict()
        """(Producer id, epoch) → the client that has this epoch, for the last few epochs."""
        self.envelope: Envelope | None = None
        """The last fact about this id."""
        self.confirmed = True
        """False from the beginning of a snapshot until the part about this id has been received."""

    @property
    def open(self) -> bool:
        """Whether a transaction is open, or is ending."""
        return self.state == ONGOING or self.state in PREPARED

    @property
    def client(self) -> str:
        """The client that has the current epoch, or "" if its initialisation was not seen."""
        return self.owners.get((self.producer_id, self.epoch), "")

    @property
    def waits_for(self) -> list[str]:
        """The partitions whose marker is not written yet."""
        return [name for name, state in self.markers.items() if state != WRITTEN]

    @property
    def written(self) -> int:
        """How many markers are written."""
        return len(self.markers) - len(self.waits_for)

    def own(self, producer_id: int, epoch: int, client: str) -> None:
        """Record which client has an epoch."""
        self.owners[producer_id, epoch] = client
        if len(self.owners) > KEPT_OWNERS:
            self.owners.popitem(last=False)

    def open_us(self, now_us: int) -> tuple[int, bool]:
        """Return how long the transaction has been open in µs, and whether it may be open
        longer.
        """
        if self.started_us is not None:
            return max(now_us - self.started_us, 0), False
        return max(now_us - self.seen_us, 0), True

    def left_us(self, now_us: int) -> int | None:
        """Return the µs until the coordinator aborts the transaction, or None if unknown."""
        if self.state != ONGOING or self.started_us is None or self.timeout_ms < 0:
            return None
        return max(self.started_us + self.timeout_ms * 1000 - now_us, 0)


class OpenInLog(NamedTuple):
    """A transaction that is open in a partition's log, or whose marker is not replicated yet."""

    producer_id: int
    epoch: int
    first_offset: int
    marker_offset: int
    since_us: int | None
    """When the leader wrote the first batch. None if the leader does not know the time."""
    seen_us: int
    """The time of the first event about it."""

    def held_us(self, now_us: int) -> tuple[int, bool]:
        """Return how long the transaction has been open in this log in µs, and whether it may be
        open longer.
        """
        if self.since_us is not None:
            return max(now_us - self.since_us, 0), False
        return max(now_us - self.seen_us, 0), True


class HeldPartition:
    """A partition with transactions, as its leader reports it."""

    def __init__(self, key: PartitionKey) -> None:
        self.key = key
        self.hw: int | None = None
        self.lso: int | None = None
        """HW and LSO in the leader's last sample. None if there is none."""
        self.open: tuple[OpenInLog, ...] = ()
        """The partition's first open transactions. The very first one holds the LSO back."""
        self.open_count = 0

    @property
    def held(self) -> int | None:
        """How many offsets readers with read_committed cannot read yet, or None if unknown."""
        if self.hw is None or self.lso is None:
            return None
        return max(self.hw - self.lso, 0)


class PartitionRow(NamedTuple):
    """One line of the partitions' table."""

    held: HeldPartition
    leader: int
    holder: OpenInLog | None
    transaction: TransactionView | None
    """The holder's transactional id, if it is known."""
    hangs: bool


def age_words(age: tuple[int, bool]) -> str:
    """Return an age in words. If the beginning is not known, the words say so."""
    age_us, at_least = age
    words = duration(age_us / 1000)
    return f"{words} at least, since you began to look" if at_least else words
