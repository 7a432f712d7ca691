"""Find out from a request's first bytes whether it is a Produce request that expects a response.

The network layer must know the answer before the request is decoded. The answer decides whether the
request may start while another Produce of the same connection is still waiting (`KafkaChannel`).
"""

from typing import Final

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_request_header
from kafka_edu.protocol.types import ProtocolError, ReadBuffer, read_unsigned_varint

#: The first version of Produce in which a transactional id comes before acks.
_WITH_TRANSACTIONAL_ID: Final = 3


def is_acknowledged_produce(frame: ReadBuffer) -> bool:
    """Return whether this frame is a Produce request with acks 1 or -1. O(1).

    `frame` is a request without its size. If its bytes cannot be read, the result is False.
    """
    if len(frame) < 2 or frame[0] or frame[1] != ApiKey.PRODUCE:
        return False
    try:
        header, position = decode_request_header(frame)
        if ApiKey.PRODUCE.is_flexible(header.api_version):
            length, position = read_unsigned_varint(frame, position)
            position += max(length - 1, 0)
        elif header.api_version >= _WITH_TRANSACTIONAL_ID:
            length = int.from_bytes(frame[position : position + 2], "big", signed=True)
            position += 2 + max(length, 0)
    except ProtocolError:
        return False
    acks = frame[position : position + 2]
    return len(acks) == 2 and int.from_bytes(acks, "big", signed=True) in (1, -1)
