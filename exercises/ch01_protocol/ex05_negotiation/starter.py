"""Exercise 01-5: write the class Negotiator. README.md describes the task. Check your file with
`kafka-edu lab check 01-5`. `kafka-edu lab hint 01-5` gives a hint.
"""

import struct
from collections.abc import Sequence

Row = tuple[int, int, int]  # api key, lowest and highest version that the broker serves

API_VERSIONS = 18
NONE = 0
UNSUPPORTED_VERSION = 35


def parse(version: int, body: bytes) -> tuple[int, list[Row]]:
    """Return the error code and the rows of an ApiVersions response in the given version, 0 to 3.

    This function works; do not change it. It raises an error if the body has a different version.
    """
    (error_code,) = struct.unpack_from(">h", body, 0)
    rows = []
    if version < 3:
        (count,) = struct.unpack_from(">i", body, 2)
        at, size, behind = 6, 6, 0 if version == 0 else 4
    else:  # flexible: the count is a varint, plus 1, and each row ends with tagged fields: none
        count, at = body[2] & 0x7F, 3
        if body[2] >= 0x80:
            count, at = count | body[3] << 7, 4
        count, size, behind = count - 1, 7, 5
    if not 0 <= count <= 1000 or len(body) < at + size * count + behind:
        raise ValueError(f"this body of {len(body)} bytes is not of version {version}")
    for _ in range(count):
        rows.append(struct.unpack_from(">hhh", body, at))
        at += size
    return error_code, rows


class Negotiator:
    """Finds the versions that a client and a broker can use on one connection."""

    def __init__(self, known: Sequence[tuple[int, Sequence[int]]]) -> None:
        # api key → the versions that this client knows, lowest first; there may be gaps
        self.known = {api_key: list(versions) for api_key, versions in known}

    def start(self) -> int:
        """Return the version of the first request on the connection, an ApiVersions request."""
        raise NotImplementedError("Negotiator.start is not written yet: it returns a version")

    def on_response(self, version: int, body: bytes) -> int | None:
        """Handle the response to the ApiVersions request of this version. Return the version of the
        next ApiVersions request, or None if no further request is needed.
        """
        raise NotImplementedError(
            "Negotiator.on_response is not written yet: it returns a version, or None"
        )

    def pick(self, api_key: int) -> int | None:
        """Return the version to use for requests with this api key, or None if no version can be
        used.
        """
        raise NotImplementedError(
            "Negotiator.pick is not written yet: it returns a version, or None"
        )
