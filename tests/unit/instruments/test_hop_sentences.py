"""The sentences of a broker's own events."""

import pytest

from kafka_edu.instruments.hop_sentences import hop_sentence
from kafka_edu.trace.events.server import LinkFaultChanged


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (LinkFaultChanged((9092,), 200, False), "its link to port 9092 is slow by 200 ms"),
        (LinkFaultChanged((9092, 9093), 0, True), "its link to ports 9092, 9093 is cut"),
        (LinkFaultChanged((9092,), 0, False), "its link to port 9092 is whole"),
    ],
)
def test_the_fault_of_a_link_has_a_sentence(event: LinkFaultChanged, words: str) -> None:
    sentence = hop_sentence(event)
    assert sentence is not None
    assert sentence.before == words
