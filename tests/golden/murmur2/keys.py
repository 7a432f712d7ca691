"""The keys whose hashes are recorded: the same 10,000 byte strings of 0 to 40 bytes each time."""

from functools import cache
from hashlib import sha512
from typing import Final

COUNT: Final = 10_000


@cache
def keys() -> tuple[bytes, ...]:
    """Return the keys. Key i has i % 41 bytes of the SHA-512 of its number."""
    return tuple(sha512(str(i).encode()).digest()[: i % 41] for i in range(COUNT))
