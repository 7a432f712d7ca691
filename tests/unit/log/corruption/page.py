"""docs/corruption.md, made from how the cases end now, and how they ended with Apache Kafka.

`python -m tests.unit.log.corruption.page docs/corruption.md` writes the page. A test fails when it
is not up to date.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from kafka_edu.trace.events.log import CheckpointUnreadable, LogRepaired
from tests.unit.log.corruption.apache import Peer, recorded
from tests.unit.log.corruption.cases import Case, Damage, Kind
from tests.unit.log.corruption.judge import SERVED, Outcome
from tests.unit.log.corruption.ours import Found, Told, all_found
from tests.unit.log.corruption.written import Written, written

_HEAD: Final = """# Damaged files: what becomes of each

This page is made by `python -m tests.unit.log.corruption.page docs/corruption.md`. Each row is a
case of `tests/unit/log/corruption`: a broker has stopped, one file of a log or of a log dir is
damaged, and the broker starts again. A client then reads everything: by offset, by time, with
`read_committed`. It checks each checksum, and compares each record with what was written.

- **No case serves a wrong record**, neither here nor in Apache Kafka 2.8.2.
- Only records of the damaged file are lost, and an event says so each time: `LogRepaired`,
  `CheckpointUnreadable` or `LogDirFailed` ([events](events.md)). broker.log has a WARNING.
- No row is worse than Kafka's. Many are better, because each start holds indexes and leader epochs
  against the batches; [differences](differences.md) has the reasons.

## The log and the damage

The log has 44 offsets in three segments, from 0, 18 and 35 on: records of an idempotent producer,
of transactions that were committed and aborted, and of a producer without an id. Two leaders wrote
them. DeleteRecords has moved its start to 3. After kill -9 (“killed”), all below the last segment
is flushed. The damaged file of a segment is that of the one from 18 on; “active segment” is the
last one.

| damage | what was done to the file |
| --- | --- |
| truncated | the second half is cut off |
| zeroed | it has its length, and only zeros |
| bit-flipped | one bit: in the last digit of a checkpoint, else in the middle of the file |
| wrong length | three bytes of garbage follow |
| empty | it has no byte |
| missing | it is removed |
| swapped | exchanged with another one's file |

Swapped are the files of the middle and the first segment, of the active and the middle segment, the
newest and the oldest snapshot, and two checkpoints of the log dir. The leader epochs are those of
another partition.

Kafka's column was recorded by `python -m tests.unit.log.corruption.apache`: Apache Kafka 2.8.2
started on the very same files. “lost” counts records that no reader gets.

"""
_TAIL: Final = """
## What no start can see

- **A transaction index that lost whole entries.** Most segments have none, so a missing, empty or
  shorter one looks right. Readers with `read_committed` then get the records of those aborted
  transactions. Kafka has the same limit. After kill -9 the index is built again for all segments
  from the recovery point on.
- **A checkpoint with another valid number.** A wrong log start offset counts as one that
  DeleteRecords has set, in both.
- **A producer snapshot of an older state.** Its checksum is right. The retry of a batch that it
  does not know is refused, or stored again.
- **A bit of a batch that nobody reads at the start.** Everything below the recovery point, and all
  after a clean stop, is not read. A reader notices the wrong checksum: the row says how many
  records it refuses. The checksum does not cover a batch's offset and leader epoch, because the
  leader sets them. Recovery checks that offsets ascend and stay within the segment.
"""


def _clean(text: str) -> str:
    """Return the text without the paths and names of the test."""
    text = re.sub(r"(/[\w.-]+)+/(?=[\w.-])", "", text)
    text = re.sub(r"0{12,}(\d+\.)", r"\1", text)
    known = r"(cannot be read|CRC is no longer valid\)|failed schema validation|no text).*"
    return re.sub(known, r"\1", text).replace("|", r"\|")


def _found(told: Told) -> str:
    if isinstance(told, LogRepaired):
        return _clean(f"{told.file}: {told.reason}")
    return _clean(told.reason)


def _done(told: Told) -> str:
    if isinstance(told, LogRepaired):
        return told.what + (f" ({told.bytes} bytes)" if told.bytes else "")
    return "it does not count" if isinstance(told, CheckpointUnreadable) else "log dir offline"


def _ends(outcome: Outcome, log: Written) -> str:
    """Say what clients notice; "nothing" if nothing."""
    if outcome.state != SERVED:
        return outcome.state
    said = []
    if outcome.lost:
        said.append(f"{len(outcome.lost)} records lost")
    if outcome.refused:
        said.append(f"a reader refuses {len(outcome.refused)} offsets")
    if outcome.revived:
        said.append(f"{len(outcome.revived)} deleted records are back")
    if outcome.aborted:
        said.append(f"read_committed gets {len(outcome.aborted)} aborted records")
    if outcome.wrong_times:
        said.append(f"{len(outcome.wrong_times)} look-ups by time are wrong")
    if not outcome.knows_producer and log.last_idempotent_offset not in outcome.lost:
        said.append("a producer's retry is no duplicate")
    if not outcome.knows_epochs and outcome.start < log.second_epoch:
        said.append("leader epochs are wrong")
    return "; ".join(said) or "nothing"


def _cells(case: Case, found: Found, peer: Peer) -> tuple[str, ...]:
    log = written(clean=case.clean)
    return (
        "<br>".join(_found(told) for told in found.told) or "–",
        "<br>".join(dict.fromkeys(_done(told) for told in found.told)) or "–",
        _ends(found.outcome, log),
        _ends(peer.outcome, log),
    )


def rows(found: Mapping[Case, Found], peers: Mapping[Case, Peer]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each row: file, damage, stop, what is found, what is done, what clients
    notice here and with Kafka. Both ways to stop share a row if they end alike.
    """
    for kind in Kind:
        for damage in Damage:
            clean, killed = Case(kind, damage, True), Case(kind, damage, False)
            cells = _cells(clean, found[clean], peers[clean])
            others = _cells(killed, found[killed], peers[killed])
            if cells == others:
                yield (kind, damage, "both", *cells)
            else:
                yield (kind, damage, "clean", *cells)
                yield (kind, damage, "killed", *others)


def page(found: Mapping[Case, Found], peers: Mapping[Case, Peer]) -> str:
    """Return the page."""
    lines = [_HEAD]
    kind = ""
    for row in rows(found, peers):
        if row[0] != kind:
            kind = row[0]
            lines.append(
                f"## {kind[0].upper()}{kind[1:]}\n\n"
                "| damage | stop | found | done | clients notice | in Kafka 2.8.2 |\n"
                "| --- | --- | --- | --- | --- | --- |\n"
            )
        lines.append(f"| {' | '.join(row[1:])} |\n")
    return _spaced("".join(lines)) + _TAIL


def _spaced(text: str) -> str:
    """Put an empty line before each heading."""
    return re.sub(r"\n+(## )", r"\n\n\1", text)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(all_found(), recorded()), encoding="utf-8")
