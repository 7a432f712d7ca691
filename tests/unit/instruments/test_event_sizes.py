"""How much memory an event is counted for, and the limit in bytes of the tape (the kept events)."""

import pytest

from kafka_edu.instruments.event_sizes import EventSizes
from kafka_edu.trace.event import SUPERVISOR, Envelope
from kafka_edu.trace.events.supervisor import ActionAsked
from tui import player as player_module
from tui.model import Model
from tui.player import Player


def asked(number: int, size: int) -> Envelope:
    event = ActionAsked(action="x" * size, target=SUPERVISOR)
    return Envelope(SUPERVISOR, number, 0, 0, number * 1_000_000, event)


def test_a_large_event_counts_for_its_size() -> None:
    small, large = EventSizes().of(asked(1, 5)), EventSizes().of(asked(1, 100_000))
    assert 100 < small < 1_000
    assert 100_000 < large < 101_000


def test_the_tape_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(player_module, "TAPE_BYTES", 1_000_000)
    player = Player(Model("demo"))
    most = 0
    for number in range(1, 200):
        player.take([asked(number, 50_000)], number * 1_000_000)
        most = max(most, len(player.tape))
    assert 10 < most <= 21
    assert player.tape[-1].seq == 199, "the newest is held"
    player.toggle()
    for number in range(200, 300):
        player.take([asked(number, 50_000)], number * 1_000_000)
    assert len(player.tape) <= 21, "while somebody looks at it too"
