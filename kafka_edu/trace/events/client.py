"""Events of a client that a demo or a test drives: its acknowledgements."""

from typing import NamedTuple

from kafka_edu.trace.event import event


@event(joins=("topic", "partition", "offset"))
class RecordAcknowledged(NamedTuple):
    """A producer's callback was called: the record is stored at this offset, as its acks
    promise.
    """

    client: str
    topic: str
    partition: int
    offset: int
