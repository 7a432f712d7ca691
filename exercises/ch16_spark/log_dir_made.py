"""Makes a log dir with the segments of exercise 16-7, and gives the right answers of 16-7s."""

import struct
from collections import Counter
from pathlib import Path
from typing import Final

from .segments_made import Made

_TIME_ENTRY: Final = struct.Struct(">qi")
_NOW_MS: Final = 1_700_000_000_000
Codecs = dict[tuple[object, ...], tuple[int, int, int]]
"""(topic, codec) → (batches, records, bytes)."""
Segments = dict[tuple[object, ...], tuple[int, int]]
"""(topic, partition, file) → (batches, longest walk)."""


class LogDir:
    """A log dir on disk. Its segments were written by the broker's own code."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._made: dict[tuple[str, int, str], Made] = {}
        path.mkdir(parents=True)
        (path / "recovery-point-offset-checkpoint").write_text("0\n0\n", encoding="ascii")

    def put(self, topic: str, partition: int, made: Made) -> None:
        """Write the files of a segment, with a time index of two entries."""
        folder = self.path / f"{topic}-{partition}"
        folder.mkdir(exist_ok=True)
        name = f"{made.base_offset:020d}"
        (folder / f"{name}.log").write_bytes(made.log)
        (folder / f"{name}.index").write_bytes(made.index_file)
        times = b"".join(_TIME_ENTRY.pack(_NOW_MS + at, at) for at in (1, 2))
        (folder / f"{name}.timeindex").write_bytes(times)
        self._made[topic, partition, f"{name}.log"] = made

    def codecs(self) -> Codecs:
        """Return the batches, records and bytes of each codec in each topic, without markers."""
        found = Counter[tuple[str, str, int]]()
        for (topic, _, _), made in self._made.items():
            for codec, numbers in made.codecs().items():
                for at, number in enumerate(numbers):
                    found[topic, codec, at] += number
        keys = {(topic, codec) for topic, codec, _ in found}
        return {key: (found[(*key, 0)], found[(*key, 1)], found[(*key, 2)]) for key in sorted(keys)}

    def segments(self) -> Segments:
        """Return the batches and the longest walk of each segment that has a whole batch."""
        return {
            key: (len(made.rows), made.longest_walk())
            for key, made in self._made.items()
            if made.rows
        }

    def drawing(self, key: tuple[object, ...]) -> tuple[str, ...]:
        """Draw the batches of a segment, or nothing if there is no such segment."""
        for own, made in self._made.items():
            if own == key:
                return made.drawing()
        return ()
