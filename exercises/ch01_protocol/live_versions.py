"""The live part of exercise 01-5. The learner's Negotiator talks with two brokers: one serves the
versions of Kafka 2.0, the other those of Kafka 2.8.
"""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kafka_edu.common.transport import part_bytes
from kafka_edu.learner.learner import Learner, LearnerFailure, LearnerObject
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_edu.protocol.schema import Message
from kafka_edu.supervisor.cluster import running_cluster

from ..runner.manifest import Exercise
from ..runner.verdict import Step
from .versions import KAFKA_20, KAFKA_28, Broker, Known, highest_common, right_course

LEVELS: Final = {0: ("2.0", KAFKA_20), 1: ("2.8", KAFKA_28)}
"""For each broker: the Kafka release that it behaves like, and the versions of this release."""
TODAY: Final[Known] = {
    int(ApiKey.PRODUCE): range(8),
    int(ApiKey.FETCH): range(4, 12),
    int(ApiKey.METADATA): (0, 1, 4, 5, 7, 8),
    int(ApiKey.API_VERSIONS): range(4),
}
FUTURE: Final[Known] = {**TODAY, int(ApiKey.API_VERSIONS): (0, 1, 2, 3, 7)}
"""The versions of a client from the future: no broker serves its newest ApiVersions version."""
MOST_QUESTIONS: Final = 5


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Let the learner's `file` negotiate with both brokers, and yield each step's result."""
    if file is None:
        return  # the course has no code of its own for this part
    say("starting two brokers, one with the versions of Kafka 2.0")
    levels = {broker: {"edu.api.level": level} for broker, (level, _) in LEVELS.items()}
    learner = Learner(file, exercise.wanted)
    try:
        with running_cluster(f"lab-{exercise.id}", brokers=2, broker_props=levels) as cluster:
            for name, known in (("a client of today", TODAY), ("a client of the future", FUTURE)):
                for broker, (level, served) in LEVELS.items():
                    say(f"{name} connects to broker {broker}")
                    says = f"{name} and a broker of Kafka {level}"
                    try:
                        made = learner.make([(key, list(known[key])) for key in known])
                        passed, seen = speak(
                            made, cluster.port(broker), known, Broker(served), patience_s
                        )
                    except LearnerFailure as failure:
                        passed, seen = False, str(failure)
                    yield Step(says, passed, seen)
    finally:
        learner.close()


def speak(
    client: LearnerObject, port: int, known: Known, broker: Broker, patience_s: float
) -> tuple[bool, str]:
    """Negotiate with a broker. Return whether the client chose the right versions, and a
    description. Raises LearnerFailure, and TimeoutError if the broker does not respond.
    """
    course, _ = right_course(known, broker)
    asked: list[object] = []
    with socket.create_connection(("127.0.0.1", port), patience_s) as connection:
        version = client.call("start")
        while isinstance(version, int) and len(asked) < MOST_QUESTIONS:
            asked.append(version)
            body = ask_versions(connection, version)
            version = client.call("on_response", version, body)
        if asked != course:
            return False, f"it asked with the versions {asked}; {course} was expected"
        picked = {key: client.call("pick", key) for key in known}
        expected = {key: highest_common(known, broker.served, key) for key in known}
        said = ", then ".join(map(str, asked))
        for key, version in picked.items():
            if version != expected[key]:
                name = ApiKey(key).name.title()
                return False, f"it picked {version} for {name}; {expected[key]} was expected"
        agreed = expected[ApiKey.METADATA]
        assert agreed is not None
        connection.sendall(frame_of(MetadataRequest(topics=[]), agreed))
        _, response = decode_response(ApiKey.METADATA, agreed, read_frame(connection))
        assert isinstance(response, MetadataResponse)
        return True, (
            f"asked with version {said}; picked Fetch {picked[ApiKey.FETCH]} and Metadata {agreed},"
            f" and the broker answered Metadata {agreed} with {len(response.brokers)} brokers"
        )


def ask_versions(connection: socket.socket, version: int) -> bytes:
    """Send an ApiVersions request of this version, and return the body of the response.

    If the version is higher than the highest version of Kafka 2.8, the body is that of version 3
    (KIP-511).
    """
    request = ApiVersionsRequest(client_software_name="lab", client_software_version="1")
    frame = bytearray(frame_of(request, min(version, request.VALID.highest)))
    frame[6:8] = version.to_bytes(2, "big")  # the version follows the size and the api key
    connection.sendall(frame)
    return read_frame(connection)[4:]


def frame_of(request: Message, version: int) -> bytes:
    """Return the bytes of a request on the wire."""
    return b"".join(map(part_bytes, encode_request(request, version, 1, "lab")))


def read_frame(connection: socket.socket) -> bytes:
    """Read the next response, and return it without its size."""
    with connection.makefile("rb") as answers:
        size = int.from_bytes(answers.read(4), "big")
        return answers.read(size)
