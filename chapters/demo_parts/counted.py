"""Count the records that are missing at a place, and those that are there more than once."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable

from kafka_edu.trace.events.client import RecordsCounted


def counted(
    client: str, place: str, sent: Collection[Hashable], found: Iterable[Hashable]
) -> RecordsCounted:
    """Compare the records that should be at a place with those found there.

    `sent` has each of them once. Other records are not counted.
    """
    times = Counter(found)
    return RecordsCounted(
        client=client,
        place=place,
        records=len(sent),
        missing=sum(not times[one] for one in sent),
        again=sum(max(times[one] - 1, 0) for one in sent),
    )
