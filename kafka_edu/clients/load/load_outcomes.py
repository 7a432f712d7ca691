"""The records of a load and the possible results of each. The clients report them to the load."""

from typing import Final, NamedTuple

from kafka_edu.clients.load.load_tally import StoredRecord

#: After this many seconds, the load no longer waits for a consumer to leave its group.
LEAVE_S: Final = 10.0
#: If a producer could not send for more than this many seconds, it does not send the missed
#: records.
MOST_BEHIND_S: Final = 1.0
#: A producer sends nothing while this many records wait for their answers.
MAX_WAITING: Final = 100_000


class Acked(NamedTuple):
    """Result of a producer: a broker has acked that it stored the record."""

    record: StoredRecord


class Sent(NamedTuple):
    """Result of a producer with acks=0: the record was sent.

    No broker confirms that it is stored.
    """

    partition: int


class Refused(NamedTuple):
    """Result of a producer: a record failed with an error.

    `number` is -1 if the client itself failed.
    """

    number: int
    error: str


class Broken(NamedTuple):
    """A client works no more, because a bug has ended its task."""

    error: str

    @classmethod
    def by(cls, bug: BaseException, client: str) -> "Broken":
        """Return the outcome for a `client` ("producer" or "consumer") that `bug` has ended."""
        return cls(f"the {client} has ended by a bug: {type(bug).__name__}: {bug}")


class Found(NamedTuple):
    """Result of a consumer: the consumer has read a record."""

    record: StoredRecord


Outcome = Acked | Sent | Refused | Broken | Found


def record_value(number: int, size: int) -> bytes:
    """Return the value of record `number`: the number, a blank, and dots up to `size` bytes."""
    return (b"%d " % number).ljust(size, b".")


def number_of(value: bytes | None) -> int | None:
    """Return the number at the start of a record's value. Return None if it has no number."""
    head = (value or b"").split(b" ", 1)[0]
    return int(head) if head.isdigit() else None
