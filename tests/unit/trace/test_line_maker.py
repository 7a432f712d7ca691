"""Lines made by compiled functions are the same as those of the general JSON encoder."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_edu.instruments.recording import read_recordings
from kafka_edu.trace.event import Envelope, Level, Source, event
from kafka_edu.trace.line_maker import QUOTED_MOST, line_of

RECORDING = Path(__file__).parents[2] / "tui" / "recordings" / "leader-killed.jsonl.gz"


class ProbeInner(NamedTuple):
    """A value within the event of these tests."""

    name: str
    pairs: tuple[tuple[str, int], ...]
    on: bool


@event()
class ProbeEverything(NamedTuple):
    """For these tests: an event with a field of each type."""

    text: str
    number: int
    on: bool
    maybe: str | None
    ratio: float
    level: Level
    source: Source
    inner: ProbeInner
    many: tuple[ProbeInner, ...]
    ids: tuple[int, ...]


@event()
class ProbeNothing(NamedTuple):
    """For these tests: an event without a field."""


def plain(envelope: Envelope) -> str:
    """The line by json.dumps."""
    row = [*envelope[:5], envelope.name, envelope.event]
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False) + "\n"


def of(made: tuple[object, ...]) -> Envelope:
    return Envelope(Source.of_broker(3), 7, 2, 1_600_000_000_000, -5, made)


@pytest.mark.parametrize(
    "text", ["", "web", 'a "b" \\ c', "line\nend\x00\x7f", "中文 👁", "{x}'%s'", "x" * 1000]
)
def test_every_type_of_field_and_every_text(text: str) -> None:
    inner = ProbeInner(name=text, pairs=((text, 1), ("b", -2)), on=False)
    envelope = of(
        ProbeEverything(
            text=text,
            number=-(1 << 63),
            on=True,
            maybe=None,
            ratio=0.25,
            level=Level.HOPS,
            source=Source.of_broker(1),
            inner=inner,
            many=(inner, inner),
            ids=(),
        )
    )
    assert line_of(envelope) == plain(envelope)
    assert json.loads(line_of(envelope))[6][0] == text


def test_an_event_without_fields() -> None:
    assert line_of(of(ProbeNothing())) == plain(of(ProbeNothing()))


def test_all_events_of_a_real_cluster() -> None:
    envelopes = read_recordings([RECORDING])
    assert len({envelope.name for envelope in envelopes}) > 60
    for envelope in envelopes:
        assert line_of(envelope) == plain(envelope)


def test_more_texts_than_are_remembered() -> None:
    for number in range(QUOTED_MOST + 10):
        inner = ProbeInner(name=f"client-{number}", pairs=(), on=True)
        envelope = of(inner)
        assert f'"client-{number}"' in line_of(envelope)
