"""The follower's side of one fetch session (Kafka: FetchSessionHandler.java; KIP-227, spec P7)."""

from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.fetch_params import PartitionFetch

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
"""The epoch of a fetch that opens a session."""
FINAL_EPOCH: Final = -1
"""The epoch of a fetch without a session. If the fetch carries a session id, that session ends."""
MAX_EPOCH: Final = 0x7FFFFFFF


def next_epoch(epoch: int) -> int:
    """Return the epoch that follows `epoch`.

    Epochs count up from 1. The largest int32 is followed by 1, because epoch 0 would open a
    session.
    """
    if epoch < 0:
        return FINAL_EPOCH
    return 1 if epoch == MAX_EPOCH else epoch + 1


class FetchRequestData(NamedTuple):
    """The session fields and the partitions of the next fetch request."""

    session_id: int
    session_epoch: int
    to_send: list[tuple[TopicPartition, PartitionFetch]]
    to_forget: list[TopicPartition]


class FetchSessionHandler:
    """Remembers what the leader already knows, so that a fetch names only the partitions that have
    changed.

    `put` and `remove` change the wanted partitions. `build` returns the next request. After
    `build`, call `handle_response` or `handle_error` before the next `build`. The first fetch, and
    each fetch after an error, are full: they name all partitions. `build` is O(partitions named),
    not O(partitions followed).
    """

    def __init__(self) -> None:
        self.session_id = NO_SESSION
        self.session_epoch = INITIAL_EPOCH
        self._wanted: dict[TopicPartition, PartitionFetch] = {}
        self._changed: dict[TopicPartition, None] = {}
        self._forgotten: dict[TopicPartition, None] = {}

    def __len__(self) -> int:
        return len(self._wanted)

    @property
    def full(self) -> bool:
        """Return whether the next fetch names all partitions."""
        return self.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH)

    def put(self, topic_partition: TopicPartition, wanted: PartitionFetch) -> None:
        """Fetch this partition from now on. O(1)."""
        self._wanted[topic_partition] = wanted
        self._changed[topic_partition] = None
        self._forgotten.pop(topic_partition, None)

    def remove(self, topic_partition: TopicPartition) -> None:
        """Stop fetching this partition. O(1)."""
        if self._wanted.pop(topic_partition, None) is not None:
            self._changed.pop(topic_partition, None)
            self._forgotten[topic_partition] = None

    def requested(self, topic_partition: TopicPartition) -> PartitionFetch | None:
        """Return the last request for this partition that was sent to the leader.

        None if the partition has been changed or removed since. O(1).
        """
        return None if topic_partition in self._changed else self._wanted.get(topic_partition)

    def build(self) -> FetchRequestData:
        """Return the next fetch request, and begin to collect the changes for the one after it."""
        if self.full:
            data = FetchRequestData(
                self.session_id, self.session_epoch, list(self._wanted.items()), []
            )
        else:
            changed = [(tp, self._wanted[tp]) for tp in self._changed]
            data = FetchRequestData(
                self.session_id, self.session_epoch, changed, list(self._forgotten)
            )
        self._changed.clear()
        self._forgotten.clear()
        return data

    def handle_response(self, error: Errors, session_id: int) -> bool:
        """Take over the session id of the response. Return False if the session has an error.

        After an error the next fetch is full.
        """
        if error is not Errors.NONE:
            if error is Errors.FETCH_SESSION_ID_NOT_FOUND:
                self.session_id, self.session_epoch = NO_SESSION, INITIAL_EPOCH
            else:
                self.session_epoch = INITIAL_EPOCH  # names the old session, which the leader closes
            return False
        if session_id == NO_SESSION:
            self.session_id, self.session_epoch = NO_SESSION, INITIAL_EPOCH
        elif self.full:
            self.session_id, self.session_epoch = session_id, 1
        else:
            self.session_epoch = next_epoch(self.session_epoch)
        return True

    def handle_error(self) -> None:
        """Record that no response came. The next fetch is full and closes the old session.

        The leader may or may not have handled the request.
        """
        self.session_epoch = INITIAL_EPOCH
