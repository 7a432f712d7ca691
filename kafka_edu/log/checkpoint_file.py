"""Read and write Kafka's checkpoint files (Kafka: CheckpointFile.scala). A file has a line with the
version, a line with the number of entries, and a line for each entry:

    0
    2
    web 0 4711
    web 1 4708
"""

from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar

from kafka_edu.common.files import FileSystem

VERSION: Final = 0
T = TypeVar("T")


class CorruptCheckpointError(Exception):
    """A checkpoint file that cannot be read. The message names the file and the faulty place."""


class CheckpointFile(Generic[T]):
    """A file with one entry of type T on each line.

    The file is always replaced as a whole. So after a crash the dir has either the old or the new
    file.
    """

    def __init__(
        self,
        path: str,
        file_system: FileSystem,
        to_line: Callable[[T], str],
        from_fields: Callable[[list[str]], T],
    ) -> None:
        self.path = path
        self._file_system = file_system
        self._to_line = to_line
        self._from_fields = from_fields

    def write(self, entries: Iterable[T], *, sync: bool = True) -> None:
        """Replace the file. O(entries).

        With `sync` the file is forced to the disk, which blocks. Without `sync` a power failure may
        undo the write.
        """
        lines = [self._to_line(entry) for entry in entries]
        self._file_system.write_atomically(
            self.path, "\n".join((str(VERSION), str(len(lines)), *lines, "")).encode(), sync=sync
        )

    def read(self) -> list[T]:
        """Return the entries. If the file is missing or empty, there are no entries, as in Kafka.

        Raises CorruptCheckpointError.
        """
        try:
            lines = self._file_system.read(self.path).decode().splitlines()
        except FileNotFoundError:
            return []
        except UnicodeDecodeError as error:
            raise CorruptCheckpointError(f"{self.path} is not a text") from error
        if not lines:
            return []
        try:
            version, count = int(lines[0]), int(lines[1])
            entries = [self._from_fields(line.split()) for line in lines[2:] if line.strip()]
        except (ValueError, IndexError) as error:
            raise CorruptCheckpointError(
                f"{self.path} has a line that cannot be read: {error}"
            ) from error
        if version != VERSION:
            raise CorruptCheckpointError(
                f"{self.path} has version {version}; this program reads version {VERSION}"
            )
        if len(entries) != count:
            raise CorruptCheckpointError(
                f"{self.path} announces {count} entries and holds {len(entries)}"
            )
        return entries
