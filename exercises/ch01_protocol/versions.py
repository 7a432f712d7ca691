"""The simulated brokers of exercise 01-5, and the versions that a client may use with them."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.api_versions_table import MAX_VERSIONS
from kafka_edu.protocol.headers import encode_response
from kafka_edu.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse

NONE: Final = 0
UNSUPPORTED_VERSION: Final = 35
HEADER_BYTES: Final = 8
"""The number of bytes of size and correlation id, which are before a response's body."""

Known = Mapping[int, Sequence[int]]
"""The versions that a client knows, by api key."""
Served = Mapping[int, tuple[int, int]]
"""The lowest and the highest version that a broker serves, by api key."""

KAFKA_20: Final[Served] = {
    key: (0, old) for key, (old, _) in MAX_VERSIONS.items() if old is not None
}
KAFKA_28: Final[Served] = {key: (0, new) for key, (_, new) in MAX_VERSIONS.items()}


class Broker(NamedTuple):
    """A simulated broker that answers ApiVersions requests."""

    served: Served
    tells: bool = True
    """Whether the broker's error response names versions of ApiVersions (KIP-511, Kafka 2.4)."""
    refuses: bool = False
    """Whether the broker wrongly refuses every version with UNSUPPORTED_VERSION."""

    def answer(self, version: int) -> bytes:
        """Return the body of the response to an ApiVersions request of this version."""
        low, high = self.served[ApiKey.API_VERSIONS]
        if low <= version <= high and not self.refuses:
            return body_of(version, NONE, self.served)
        ranges = {int(ApiKey.API_VERSIONS): (low, high)} if self.tells else {}
        return body_of(0, UNSUPPORTED_VERSION, ranges)


def body_of(version: int, error_code: int, served: Served) -> bytes:
    """Return the body of an ApiVersions response, as the broker's own codec writes it."""
    rows = [
        ApiVersion(api_key=key, min_version=low, max_version=high)
        for key, (low, high) in sorted(served.items())
    ]
    response = ApiVersionsResponse(error_code=error_code, api_keys=rows)
    parts = encode_response(ApiKey.API_VERSIONS, version, 1, response)
    return b"".join(map(part_bytes, parts))[HEADER_BYTES:]


def highest_common(known: Known, served: Served, api_key: int) -> int | None:
    """Return the highest version that both sides know, or None."""
    if api_key not in served:
        return None
    low, high = served[api_key]
    return max((one for one in known.get(api_key, ()) if low <= one <= high), default=None)


def right_course(known: Known, broker: Broker) -> tuple[list[int], bool]:
    """Return the versions of a correct client's ApiVersions requests. Also return whether the
    client gets a table of versions.
    """
    first = max(known[ApiKey.API_VERSIONS])
    low, high = broker.served[ApiKey.API_VERSIONS]
    if broker.refuses or not low <= first <= high:
        if first == 0:
            return [0], False
        second = (
            highest_common(known, broker.served, ApiKey.API_VERSIONS)
            if broker.tells
            else (0 if 0 in known[ApiKey.API_VERSIONS] else None)
        )
        if second is None:
            return [first], False
        return [first, second], low <= second <= high and not broker.refuses
    return [first], True


def draw(known: Known, served: Served, api_key: int, came: object) -> tuple[str, ...]:
    """Return lines with the versions of both sides, and a caret under the learner's answer."""
    low, high = served.get(api_key, (1, 0))
    client = known.get(api_key, ())
    last = max([high, *client, 1])
    numbers = "".join(f"{one:>3}" for one in range(last + 1))
    mine = "".join("  x" if one in client else "  ·" for one in range(last + 1))
    theirs = "".join("  x" if low <= one <= high else "  ·" for one in range(last + 1))
    lines = [f"version {numbers}", f"client  {mine}", f"broker  {theirs}"]
    if isinstance(came, int) and 0 <= came <= last:
        lines.append(" " * (10 + 3 * came) + "^ your answer")
    return tuple(lines)
