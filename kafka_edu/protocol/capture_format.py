"""Read and write captured frames: a broker writes them as lines of JSON, and the wire microscope
reads them.

The first line contains the name of the format. Each further line is one frame (shown here on
several lines):

    {"n":7,"ms":1700000000123,"broker":0,"connection":"127.0.0.1:9092-127.0.0.1:51234-3",
     "kind":"request","client":"shop","api":0,"version":9,"correlation":4711,"size":312,
     "hex":"00000134…"}

`size` is the number of bytes of the whole frame, with its size field. `hex` may contain fewer
bytes, because long frames are cut. `hidden` contains the names of the fields whose bytes were
replaced with `*` before the frame was written. `api` and `version` are -1 if they cannot be read
from the frame.

Each line is written by one call, so a reader finds only complete lines. If the broker was killed,
the last line may be incomplete. The reader skips such a line.
"""

import json
from typing import Final, NamedTuple

FORMAT: Final = "kafka-edu frames"
FORMAT_VERSION: Final = 1
UNKNOWN: Final = -1


class CaptureFormatError(Exception):
    """The file is not a capture, or its format is newer than this program."""


class CapturedFrame(NamedTuple):
    """One request or response, as it went over the wire."""

    number: int
    """The number of the frame in its capture, counted from 1."""
    wall_ms: int
    broker_id: int
    connection_id: str
    is_response: bool
    client_id: str
    api_key: int
    api_version: int
    correlation_id: int
    size: int
    """The size of the whole frame in bytes, with its size field."""
    data: bytes
    """The bytes of the frame, beginning with the size field. Fewer than `size` if the frame was
    cut.
    """
    hidden: tuple[str, ...] = ()
    """The names of the secret fields, whose bytes were replaced with `*` in `data`."""

    @property
    def is_cut(self) -> bool:
        return len(self.data) < self.size


def encode_header(broker_id: int) -> bytes:
    """Return the first line of a capture file, which names its format."""
    header = {"format": FORMAT, "version": FORMAT_VERSION, "broker": broker_id}
    return json.dumps(header).encode() + b"\n"


def check_header(line: bytes) -> None:
    """Raise CaptureFormatError unless `line` is the first line of a capture that this program can
    read.
    """
    try:
        header = json.loads(line)
        name, version = header["format"], header["version"]
    except (ValueError, KeyError, TypeError):
        raise CaptureFormatError(
            "this is not a capture of frames: its first line is not one"
        ) from None
    if name != FORMAT or version != FORMAT_VERSION:
        raise CaptureFormatError(
            f"this is '{name}' version {version}, and we read '{FORMAT}' version {FORMAT_VERSION}"
        )


def encode_frame(frame: CapturedFrame) -> bytes:
    """Return the line of JSON for a frame."""
    fields: dict[str, object] = {
        "n": frame.number,
        "ms": frame.wall_ms,
        "broker": frame.broker_id,
        "connection": frame.connection_id,
        "kind": "response" if frame.is_response else "request",
        "client": frame.client_id,
        "api": frame.api_key,
        "version": frame.api_version,
        "correlation": frame.correlation_id,
        "size": frame.size,
    }
    if frame.hidden:
        fields["hidden"] = frame.hidden
    fields["hex"] = frame.data.hex()
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def decode_frame(line: bytes) -> CapturedFrame | None:
    """Return the frame in a line of JSON. Return None if the line is incomplete or not a frame."""
    try:
        fields = json.loads(line)
        if not isinstance(fields, dict) or fields["kind"] not in ("request", "response"):
            return None
        return CapturedFrame(
            number=_number(fields["n"]),
            wall_ms=_number(fields["ms"]),
            broker_id=_number(fields["broker"]),
            connection_id=str(fields["connection"]),
            is_response=fields["kind"] == "response",
            client_id=str(fields["client"]),
            api_key=_number(fields["api"]),
            api_version=_number(fields["version"]),
            correlation_id=_number(fields["correlation"]),
            size=_number(fields["size"]),
            data=bytes.fromhex(fields["hex"]),
            hidden=tuple(map(str, fields.get("hidden", ()))),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError("not a number")
    return value
