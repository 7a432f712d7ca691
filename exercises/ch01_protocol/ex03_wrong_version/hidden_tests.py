"""Hidden tests of exercise 01-3: only a grade (`kafka-edu lab grade`) runs them."""

from random import Random

from kafka_edu.protocol.messages.fetch import FetchResponse

from .material import FIRST_WITH_SESSIONS, VERSIONS, response_of
from .public_tests import Checked
from .public_tests import decoder as decoder
from .public_tests import diagnosis as diagnosis

LAST_SESSION = 0x7FFF_FFFF


def several(random: Random, version: int) -> FetchResponse:
    """Return a response with several topics, in a session if the version has sessions."""
    response = response_of(random, partitions=random.randint(1, 4))
    for _ in range(random.randint(1, 3)):
        response.responses += response_of(random, partitions=random.randint(0, 3)).responses
    if version >= FIRST_WITH_SESSIONS:
        response.session_id = random.randint(1, LAST_SESSION)
    return response


def test_several_topics(decoder: Checked, seed: int) -> None:
    """responses with several topics, each with several partitions, in every version"""
    random = Random(f"topics/{seed}")
    for _ in range(5):
        for version in VERSIONS:
            decoder.reads(several(random, version), version)


def test_null_and_long(decoder: Checked, seed: int) -> None:
    """records that are null or long, and a topic whose name is not English"""
    random = Random(f"null/{seed}")
    for version in VERSIONS:
        response = several(random, version)
        for records in (None, random.randbytes(9_000)):
            topic = random.choice([one for one in response.responses if one.partition_responses])
            topic.topic = "Bestellungen für Zürich"
            random.choice(topic.partition_responses).record_set = records
            decoder.reads(response, version)


def test_near_replica(decoder: Checked, seed: int) -> None:
    """version 11 with a replica that the client should read from"""
    random = Random(f"near/{seed}")
    for _ in range(10):
        response = several(random, 11)
        for topic in response.responses:
            for partition in topic.partition_responses:
                partition.preferred_read_replica = random.choice((-1, 0, 2, 2**31 - 1))
        decoder.reads(response, 11)
