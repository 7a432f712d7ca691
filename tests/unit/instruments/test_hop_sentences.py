"""The sentences of a broker's own events."""

import pytest

from kafka_edu.instruments.hop_sentences import hop_sentence
from kafka_edu.trace.events.log import CheckpointWritten
from kafka_edu.trace.events.server import LinkFaultChanged, LinkReset


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            LinkFaultChanged(ports=(9092,), delay_ms=200, cut=False),
            "its link to port 9092 is slow by 200 ms",
        ),
        (
            LinkFaultChanged(ports=(9092, 9093), delay_ms=0, cut=True),
            "its link to ports 9092, 9093 is cut",
        ),
        (LinkFaultChanged(ports=(9092,), delay_ms=0, cut=False), "its link to port 9092 is whole"),
        (
            LinkReset(ports=(9092,), connections=2),
            "loses its 2 connections to port 9092, by a reset",
        ),
    ],
)
def test_the_fault_of_a_link_has_a_sentence(
    event: LinkFaultChanged | LinkReset, words: str
) -> None:
    sentence = hop_sentence(event)
    assert sentence is not None
    assert sentence.before == words


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("recovery-point-offset-checkpoint", "writes the recovery points"),
        ("log-start-offset-checkpoint", "writes the log start offsets"),
    ],
)
def test_a_checkpoint_of_a_log_dir_has_a_sentence(file: str, words: str) -> None:
    sentence = hop_sentence(CheckpointWritten(log_dir="/data", file=file, entries=2))
    assert sentence is not None
    assert sentence.line == f"{words} of 2 partitions to its checkpoint"
