"""Kafka releases as they are written in configurations, and the message format of each release.

Kafka: ApiVersion.scala.
"""

from typing import Final

from kafka_edu.common.config_def import ConfigValue

_NEWEST: Final = (2, 8)
_FIRST_WITH_V1: Final = (0, 10)
_FIRST_WITH_V2: Final = (0, 11)


class ProtocolVersion:
    """Accept a release from 0.8.0 to 2.8, written as `2.0`, `2.0.1` or `2.0-IV1`."""

    def refusal(self, value: ConfigValue) -> str:
        allowed = isinstance(value, str) and release_of(value) is not None
        return (
            ""
            if allowed
            else "Value must be a Kafka release from 0.8.0 to 2.8, as in 2.0, 2.0.1 or 2.0-IV1"
        )


def release_of(version: str) -> tuple[int, int] | None:
    """Turn the name of a release into two numbers: `2.0-IV1` → (2, 0), `0.10.2` → (0, 10).

    Return None if the text is not a release up to 2.8.
    """
    numbers = version.partition("-IV")[0].split(".")
    if not 2 <= len(numbers) <= 4 or not all(n.isascii() and n.isdigit() for n in numbers):
        return None
    release = (int(numbers[0]), int(numbers[1]))
    return release if (0, 8) <= release <= _NEWEST else None


def record_version(version: str) -> int:
    """Return the message format of a release (Kafka: RecordVersion.java).

    The validator must have accepted the release. Releases up to 0.9 write v0, 0.10 writes v1, and
    0.11 and later write v2.
    """
    release = release_of(version)
    if release is None:
        raise ValueError(f"{version} is not a release")
    return 2 if release >= _FIRST_WITH_V2 else 1 if release >= _FIRST_WITH_V1 else 0
