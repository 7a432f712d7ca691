"""The files of exercise 01-3: Fetch responses, and what the wrong starter reads in their bytes."""

from random import Random
from typing import Final, NamedTuple

from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import encode_response
from kafka_edu.protocol.messages.fetch import (
    AbortedTransaction,
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchResponse,
)

from .starter import FetchDecoder, Value

FIRST_WITH_SESSIONS: Final = 7
VERSIONS: Final = range(4, 12)
SESSION_NOT_FOUND: Final = 70
OUT_OF_RANGE: Final = 1
NEW_SESSION, NO_SESSION = 0, -1
"""The two epochs of a request without a session: 0 asks for a new session, -1 wants none."""


class Exchange(NamedTuple):
    """A Fetch response, with the version, session id and epoch of the client's request."""

    version: int
    session_id: int
    epoch: int
    response: FetchResponse
    correlation_id: int

    @property
    def frame(self) -> bytes:
        """The bytes of the whole response on the wire."""
        return frame_of(self.response, self.version, self.correlation_id)


class Found(NamedTuple):
    """The right answers of the exercise."""

    number: int
    """The number of the first response that the starter reads wrongly, counted from 1."""
    version: int
    field: str
    session_id: int


def frame_of(response: FetchResponse, version: int, correlation_id: int) -> bytes:
    """Return the bytes of a response on the wire. They begin with the size."""
    parts = encode_response(ApiKey.FETCH, version, correlation_id, response)
    return b"".join(map(part_bytes, parts))


def make(seed: int) -> dict[str, str]:
    """Return the learner's file frames.txt, as a dict from its name to its text."""
    exchanges, _ = run(seed)
    lines = []
    for number, one in enumerate(exchanges, 1):
        lines += [f"{number}. {asked(one)}", "   the response:"]
        frame = one.frame
        for begin in range(0, len(frame), 16):
            lines.append(f"   {begin:>4}  {frame[begin : begin + 16].hex(' ')}")
        lines.append("   the decoder reads:")
        lines += [f"         {line}" for line in read_by_starter(one.version, frame)]
        lines.append("")
    return {"frames.txt": "\n".join(lines)}


def asked(one: Exchange) -> str:
    """Return a sentence about the request that the client sent."""
    words = f"A client sends Fetch version {one.version}"
    if one.version < FIRST_WITH_SESSIONS:
        return words
    if one.epoch == NO_SESSION:
        return f"{words} and wants no session"
    if one.epoch == NEW_SESSION:
        return f"{words} and asks for a session"
    return f"{words} in the session {one.session_id}, epoch {one.epoch}"


def read_by_starter(version: int, frame: bytes) -> list[str]:
    """Return lines with the fields that the starter reads in a response."""
    found = FetchDecoder().decode(version, frame)
    head = ", ".join(f"{name} {value!r}" for name, value in found if "[" not in name)
    lines = [head]
    row = ""
    for name, value in found:
        if "[" not in name:
            continue
        shown = f"{len(value)} bytes" if isinstance(value, bytes) else str(value)
        word = f"{name.rpartition('.')[2]} {shown}"
        if row and len(row) + len(word) > 66:
            lines.append(row + ",")
            row = word
        else:
            row = f"{row}, {word}" if row else word
    return [*lines, row] if row else lines


def run(seed: int) -> tuple[list[Exchange], Found]:
    """Return random exchanges, and the right answers about them.

    From version 7 on, the starter takes each of two fields for the other. In a response without a
    session both fields are 0, so the mistake does not show. The first response with a session has a
    version from 8 to 11. A response with a session in version 7, the lowest version that is read
    wrongly, comes later.
    """
    random = Random(seed)
    plain = [(version, NO_SESSION) for version in (4, 5, 6, 7, random.randint(8, 11))]
    random.shuffle(plain)
    first = random.randint(2, 4)
    refused = random.randrange(first)
    exchanges: list[Exchange] = []

    def add(version: int, session_id: int, epoch: int, response: FetchResponse) -> int:
        exchanges.append(Exchange(version, session_id, epoch, response, random.randint(5, 900)))
        return len(exchanges)

    def without_session(index: int) -> None:
        version, epoch = plain[index]
        add(version, 0, epoch, response_of(random, error=OUT_OF_RANGE if index == refused else 0))

    def with_session(version: int) -> tuple[int, int]:
        session_id = random.randint(0x0101_0101, 0x7FFF_FFFF)
        response = response_of(random)
        response.session_id = session_id
        number = add(version, 0, NEW_SESSION, response)
        as_read = dict(FetchDecoder().decode(version, exchanges[-1].frame))["session_id"]
        assert isinstance(as_read, int)
        add(version, as_read, 1, FetchResponse(error_code=SESSION_NOT_FOUND))
        return number, session_id

    for index in range(first):
        without_session(index)
    number, session_id = with_session(random.randint(8, 11))
    with_session(FIRST_WITH_SESSIONS)
    for index in range(first, len(plain)):
        without_session(index)
    return exchanges, Found(number, FIRST_WITH_SESSIONS, "error_code", session_id)


def response_of(random: Random, *, error: int = 0, partitions: int = 1) -> FetchResponse:
    """Return a random response. If `error` is given, its first partition has this error."""
    results = []
    for partition in range(partitions):
        high_watermark = random.randint(10, 90_000)
        if error and partition == 0:
            failed = FetchablePartitionResponse(
                partition=partition, error_code=error, high_watermark=-1, record_set=b""
            )
            failed.aborted_transactions = None
            results.append(failed)
            continue
        result = FetchablePartitionResponse(
            partition=random.randrange(9),
            high_watermark=high_watermark,
            last_stable_offset=high_watermark - random.randrange(5),
            log_start_offset=random.randrange(5),
            record_set=random.randbytes(random.randrange(8)),
        )
        aborted = [
            AbortedTransaction(producer_id=random.randrange(5_000), first_offset=high_watermark - 5)
        ]
        result.aborted_transactions = random.choice((None, [], aborted))
        results.append(result)
    topic = FetchableTopicResponse(topic=random.choice(("web", "orders", "log")))
    topic.partition_responses = results
    return FetchResponse(throttle_time_ms=random.choice((0, 0, 40)), responses=[topic])


def right_reading(
    response: FetchResponse, version: int, correlation_id: int
) -> list[tuple[str, Value]]:
    """Return the names and values that a right decoder reads, in the order of the bytes."""
    frame = frame_of(response, version, correlation_id)
    found: list[tuple[str, Value]] = [
        ("size", len(frame) - 4),
        ("correlation_id", correlation_id),
        ("throttle_time_ms", response.throttle_time_ms),
    ]
    if version >= FIRST_WITH_SESSIONS:
        found += [("error_code", response.error_code), ("session_id", response.session_id)]
    for topic_number, topic in enumerate(response.responses):
        found.append((f"topics[{topic_number}].topic", topic.topic))
        for number, one in enumerate(topic.partition_responses):
            within = f"topics[{topic_number}].partitions[{number}]."
            found += [
                (f"{within}partition", one.partition),
                (f"{within}error_code", one.error_code),
                (f"{within}high_watermark", one.high_watermark),
                (f"{within}last_stable_offset", one.last_stable_offset),
            ]
            if version >= 5:
                found.append((f"{within}log_start_offset", one.log_start_offset))
            for at, aborted in enumerate(one.aborted_transactions or ()):
                inner = f"{within}aborted_transactions[{at}]."
                found += [
                    (f"{inner}producer_id", aborted.producer_id),
                    (f"{inner}first_offset", aborted.first_offset),
                ]
            if version >= 11:
                found.append((f"{within}preferred_read_replica", one.preferred_read_replica))
            records = one.record_set
            found.append(
                (f"{within}records", None if records is None else bytes(part_bytes(records)))
            )
    return found
