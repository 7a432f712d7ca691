"""The probe requests: each kind can be sent, and one seed gives one sequence of them."""

import random

from kafka_edu.clients.probe_requests import ProbeRequests
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.headers import encode_request


def requests(seed: int) -> ProbeRequests:
    return ProbeRequests(
        random.Random(seed),
        [TopicPartition("t", 0), TopicPartition("t", 1)],
        [1, 2, 3],
        lambda: 1_600_000_000_000,
    )


def test_each_kind_can_be_encoded_in_the_version_it_is_sent_in() -> None:
    probes = requests(1)
    for kind, make in probes.kinds.items():
        for _ in range(20):
            probe = make()
            assert probe.kind == kind
            assert probe.allowed_ms >= 0
            assert encode_request(probe.request, probe.version, 1, "test")


def test_the_same_seed_draws_the_same_requests() -> None:
    one, other = requests(5), requests(5)
    drawn = [one.draw() for _ in range(200)]
    assert [str(probe) for probe in drawn] == [str(other.draw()) for _ in range(200)]
    assert len({probe.kind for probe in drawn}) > 12
