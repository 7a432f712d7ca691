"""What transactions tell: in a log, where read_committed readers stop and what they leave out; at the coordinator, each step of a transaction (spec X2)."""

from typing import NamedTuple

from kafka_edu.trace.event import event


@event()
class LastStableOffsetMoved(NamedTuple):
    """The end for read_committed readers moved. Told when a transaction holds it back or has let it go; else, as the HW's shadow, at level `hops`."""

    topic: str
    partition: int
    from_offset: int
    to_offset: int
    high_watermark: int


@event()
class AbortedTransactionIndexed(NamedTuple):
    """An abort marker was written: read_committed readers leave out the producer's records from `first_offset` to the marker."""

    topic: str
    partition: int
    producer_id: int
    first_offset: int
    last_offset: int
    """The marker's."""
    last_stable_offset: int
    """Behind the marker, once it is replicated."""
