"""Exercise 18-2: the reference solution."""

from collections.abc import Mapping, Sequence


def broken(
    sent: Sequence[tuple[str, str, int]],
    acked: Mapping[str, int],
    log: Sequence[tuple[int, str, int, int]],
) -> list[tuple[str, str]]:
    """Return what is wrong with a partition's log: (fault, record), each once."""
    numbers = {record: number for record, _, number in sent}
    places: dict[str, set[int]] = {}
    copies: set[tuple[str, int, int]] = set()
    highest: dict[tuple[int, int], int] = {}
    faults = []
    for offset, record, producer_id, epoch in log:
        if record not in numbers:
            faults.append(("invented", record))
            continue
        places.setdefault(record, set()).add(offset)
        key = producer_id, epoch
        if (record, *key) in copies:
            faults.append(("twice", record))
        elif numbers[record] < highest.get(key, 0):
            faults.append(("late", record))
        copies.add((record, *key))
        highest[key] = max(highest.get(key, 0), numbers[record])
    for record, offset in acked.items():
        found = places.get(record, set())
        if offset not in found and not (offset == -1 and found):
            faults.append(("lost", record))
    return list(dict.fromkeys(faults))
