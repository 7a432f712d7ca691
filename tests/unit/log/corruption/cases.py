"""The table's rows: eleven kinds of files, seven kinds of damage, two ways to stop.

A damaged file of a segment belongs to the middle segment, which is flushed. Only `active segment`
means the last segment, which is not flushed after kill -9. Of the snapshots, the newest is damaged.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from kafka_edu.log.log_file_names import (
    CLEAN_SHUTDOWN_FILE,
    INDEX_SUFFIX,
    LEADER_EPOCH_CHECKPOINT,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TXN_INDEX_SUFFIX,
    segment_file,
)
from kafka_edu.log.offset_checkpoint_file import (
    CLEANER_OFFSET_FILE,
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
)
from kafka_edu.replication.high_watermark_checkpoints import HIGH_WATERMARK_FILENAME
from tests.unit.log.corruption.written import TOPIC, TOPIC_CONFIG, Written


class Kind(StrEnum):
    """The damaged file."""

    OFFSET_INDEX = "offset index"
    TIME_INDEX = "time index"
    TXN_INDEX = "transaction index"
    SNAPSHOT = "producer snapshot"
    EPOCHS = LEADER_EPOCH_CHECKPOINT
    RECOVERY_POINT = RECOVERY_POINT_FILE
    HIGH_WATERMARK = HIGH_WATERMARK_FILENAME
    LOG_START = LOG_START_OFFSET_FILE
    CLEANER = CLEANER_OFFSET_FILE
    SEGMENT = "segment"
    ACTIVE_SEGMENT = "active segment"


class Damage(StrEnum):
    TRUNCATED = "truncated"
    ZEROED = "zeroed"
    BIT_FLIPPED = "bit-flipped"
    WRONG_LENGTH = "wrong length"
    EMPTY = "empty"
    MISSING = "missing"
    SWAPPED = "swapped"


class Case(NamedTuple):
    kind: Kind
    damage: Damage
    clean: bool

    @property
    def topic(self) -> str:
        """The name of the case's topic; no other case has it."""
        return _topic(self.kind, self.damage, self.clean)

    def files(self, written: Written) -> dict[str, bytes]:
        """Return the files of the log dir with the damage. Names and checkpoints are still those
        of the topic `t`.
        """
        return _damaged(self, written)


class Flip(NamedTuple):
    """One flipped bit, anywhere in the file."""

    kind: Kind
    bit: int
    clean: bool

    @property
    def topic(self) -> str:
        return _topic(self.kind, f"bit-{self.bit}", self.clean)

    def files(self, written: Written) -> dict[str, bytes]:
        path = path_of(self.kind, written)
        return {**written.files, path: flipped(written.files[path], self.bit)}


Planted = Case | Flip


def _topic(kind: Kind, damage: str, clean: bool) -> str:
    return f"{kind}.{damage}.{'clean' if clean else 'killed'}".replace(" ", "-")


def config_of(kind: Kind) -> Mapping[str, str]:
    """Return the topic's settings. Only a compacted topic uses the cleaner's checkpoint."""
    return {**TOPIC_CONFIG, "cleanup.policy": "compact" if kind is Kind.CLEANER else "delete"}


CASES: Final = [
    Case(kind, damage, clean) for clean in (True, False) for kind in Kind for damage in Damage
]
_SUFFIX: Final = {
    Kind.OFFSET_INDEX: INDEX_SUFFIX,
    Kind.TIME_INDEX: TIME_INDEX_SUFFIX,
    Kind.TXN_INDEX: TXN_INDEX_SUFFIX,
    Kind.SEGMENT: LOG_SUFFIX,
}
_OTHER: Final = {
    Kind.RECOVERY_POINT: CLEANER_OFFSET_FILE,
    Kind.LOG_START: RECOVERY_POINT_FILE,
    Kind.HIGH_WATERMARK: CLEANER_OFFSET_FILE,
    Kind.CLEANER: HIGH_WATERMARK_FILENAME,
}
_OTHER_EPOCHS: Final = b"0\n3\n0 0\n3 9\n5 24\n"
"""The leader epochs of another partition."""
_GARBAGE: Final = b"\x9c\x01\xfe"


def path_of(kind: Kind, written: Written) -> str:
    """Return the damaged file, relative to the log dir."""
    folder = f"{TOPIC}-0"
    if kind in _SUFFIX:
        return segment_file(folder, written.bases[1], _SUFFIX[kind])
    if kind is Kind.ACTIVE_SEGMENT:
        return segment_file(folder, written.bases[2], LOG_SUFFIX)
    if kind is Kind.SNAPSHOT:
        return max(name for name in written.files if name.endswith(SNAPSHOT_SUFFIX))
    return f"{folder}/{kind}" if kind is Kind.EPOCHS else str(kind)


def _other_path(kind: Kind, written: Written) -> str:
    """Return the file with which it is swapped."""
    folder = f"{TOPIC}-0"
    if kind in _SUFFIX:
        return segment_file(folder, written.bases[0], _SUFFIX[kind])
    if kind is Kind.ACTIVE_SEGMENT:
        return segment_file(folder, written.bases[1], LOG_SUFFIX)
    if kind is Kind.SNAPSHOT:
        return min(name for name in written.files if name.endswith(SNAPSHOT_SUFFIX))
    return _OTHER[kind]


def flipped(data: bytes, bit: int) -> bytes:
    """Return the bytes with one other bit."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def _bit_of(data: bytes) -> int:
    """Return the number of the bit that the case flips. In a checkpoint the bit is in the offset of
    the last line, which stays a number. In any other file it is in the middle.
    """
    if data.endswith(b"\n"):
        return 8 * (len(data) - 2) + 1
    return 8 * (len(data) // 2) + 2


def _damaged(case: Case, written: Written) -> dict[str, bytes]:
    files = dict(written.files)
    path = path_of(case.kind, written)
    data = files[path]
    match case.damage:
        case Damage.TRUNCATED:
            files[path] = data[: len(data) // 2]
        case Damage.ZEROED:
            files[path] = bytes(len(data))
        case Damage.BIT_FLIPPED:
            files[path] = flipped(data, _bit_of(data))
        case Damage.WRONG_LENGTH:
            files[path] = data + _GARBAGE
        case Damage.EMPTY:
            files[path] = b""
        case Damage.MISSING:
            del files[path]
        case Damage.SWAPPED if case.kind is Kind.EPOCHS:
            files[path] = _OTHER_EPOCHS
        case Damage.SWAPPED:
            other = _other_path(case.kind, written)
            files[path], files[other] = files[other], data
    return files


def named(files: Mapping[str, bytes], topic: str) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the log dir, renamed so that they belong to the topic `topic`."""
    for path, data in files.items():
        if path.startswith(f"{TOPIC}-0/"):
            yield topic + path.removeprefix(TOPIC), data
        elif path != CLEAN_SHUTDOWN_FILE:
            yield path, data.replace(f"{TOPIC} 0".encode(), f"{topic} 0".encode())
        else:
            yield path, data
