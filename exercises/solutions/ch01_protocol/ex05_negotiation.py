"""Exercise 01-5: the reference solution."""

import struct
from collections.abc import Sequence

Row = tuple[int, int, int]  # api key, lowest and highest version that the broker serves

API_VERSIONS = 18
NONE = 0
UNSUPPORTED_VERSION = 35


def parse(version: int, body: bytes) -> tuple[int, list[Row]]:
    """Return the error code and the rows of an ApiVersions response in `version`, 0 to 3.

    This works; you need not change it. It raises an error if the body has a different version.
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
    """Finds out which versions one connection can speak."""

    def __init__(self, known: Sequence[tuple[int, Sequence[int]]]) -> None:
        # api key → the versions that this client knows, lowest first; there may be gaps
        self.known = {api_key: list(versions) for api_key, versions in known}
        self.asked_again = False
        self.rows: list[Row] = []

    def start(self) -> int:
        """Return the version of the first request, which is an ApiVersions."""
        return max(self.known[API_VERSIONS])

    def on_response(self, version: int, body: bytes) -> int | None:
        """Process the response to an ApiVersions request of this version. Return the version of the
        next ApiVersions request, or None if no further request is needed.
        """
        error_code = int.from_bytes(body[:2], "big", signed=True)
        if error_code == NONE:
            _, self.rows = parse(version, body)
        if error_code != UNSUPPORTED_VERSION or self.asked_again or version == 0:
            return None
        self.asked_again = True
        _, rows = parse(0, body)
        if any(api_key == API_VERSIONS for api_key, _, _ in rows):
            return self.common(API_VERSIONS, rows)
        return 0 if 0 in self.known[API_VERSIONS] else None

    def pick(self, api_key: int) -> int | None:
        """Return the highest version of this API that both sides know, or None."""
        return self.common(api_key, self.rows)

    def common(self, api_key: int, rows: Sequence[Row]) -> int | None:
        """Return the highest version that both this client and `rows` have, or None."""
        versions = [
            version
            for key, lowest, highest in rows
            for version in self.known.get(api_key, ())
            if key == api_key and lowest <= version <= highest
        ]
        return max(versions, default=None)
