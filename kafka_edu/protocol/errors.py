"""Make the errors that the generated codecs raise, each with its message.

`label` is the path of the field in its message, for example `FetchRequest.topics.partitions`.
"""

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.protocol.types import MAX_STRING_BYTES, ProtocolError


def too_many(label: str, announced: int, left: int) -> ProtocolError:
    return ProtocolError(
        f"{label}: {announced} bytes or elements are announced, but only {left} bytes are left"
    )


def null(label: str, length: int) -> ProtocolError:
    return ProtocolError(f"{label}: length {length} means null, which is not allowed here")


def cannot_be_null(label: str) -> ProtocolError:
    return ProtocolError(f"{label} cannot be null in this version")


def string_too_long(label: str, size: int) -> ProtocolError:
    return ProtocolError(f"{label}: a string of {size} bytes is longer than {MAX_STRING_BYTES}")


def unsupported(label: str, value: object, version: int, versions: str) -> KafkaException:
    shown = repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return KafkaException(
        Errors.UNSUPPORTED_VERSION,
        f"{label} = {shown} cannot be sent in version {version}: it is part of versions {versions}",
    )
