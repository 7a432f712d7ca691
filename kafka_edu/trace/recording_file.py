"""Files of recorded events, perhaps compressed, perhaps cut short by kill -9.

The lines are read by `reader`. The command line and Spark's workers open the files here, so both
take the same files.
"""

import gzip
import io
import zlib
from pathlib import Path
from typing import BinaryIO, Final, Literal

from kafka_edu.trace.reader import LeftOut

_BLOCK: Final = 1 << 16


def open_events(path: Path, mode: Literal["rb", "wb"] = "rb") -> io.BufferedIOBase:
    """Open a file of events, compressed if its name ends in `.gz`. Raise OSError."""
    if path.suffix == ".gz":
        return gzip.GzipFile(path, mode)
    return path.open("rb") if mode == "rb" else path.open("wb")


def readable_part(file: io.BufferedIOBase, left_out: LeftOut | None) -> BinaryIO:
    """Return the readable part of a file that may have been cut short by kill -9, or damaged.

    Reading a compressed file that was cut short or damaged raises an error after the last
    readable byte. The lines before that byte are correct, so they are returned, and `left_out`
    gets the reason. Without `left_out`, damage raises the error.
    """
    lines = io.BytesIO()
    try:
        while block := file.read1(_BLOCK):  # `read` would lose what it has when it fails
            lines.write(block)
    except EOFError:
        if left_out is not None:
            left_out.end_missing = "its end is missing: the packed file was cut off"
    except (zlib.error, gzip.BadGzipFile) as error:
        if left_out is None or not lines.tell():
            raise
        left_out.end_missing = f"its end is missing: the rest cannot be unpacked ({error})"
    lines.seek(0)
    return lines
