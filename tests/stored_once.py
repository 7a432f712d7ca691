"""Leave out copies of records that librdkafka has sent twice. Copies that a broker has made are
kept.
"""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from chapters.demo_parts.stored_records import ProducerIdAndEpoch, producers_by_offset


def without_copies_sent_anew(read: Iterable[tuple[int, int]], replica: Path) -> list[int]:
    """Return the values in `read` (offset, value), without those that librdkafka has sent again
    under a new epoch.

    A broker cannot recognise such a copy (see `stored_records`). It happens on a busy machine. A
    copy with the same producer id and epoch is a fault of the broker, and it stays. `replica` is
    the folder of one replica of the partition. O(records).
    """
    producers = producers_by_offset(replica)
    seen: defaultdict[int, set[ProducerIdAndEpoch]] = defaultdict(set)
    values = []
    for offset, value in read:
        producer = producers.get(offset)
        assert producer is not None, f"{replica} has no batch with offset {offset}"
        if not seen[value] or producer in seen[value]:
            values.append(value)
        seen[value].add(producer)
    return values
