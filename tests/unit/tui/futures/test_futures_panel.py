"""The panel between two futures computes the causes of their first difference once."""

from types import SimpleNamespace
from typing import cast

import pytest

from kafka_edu.trace.event import SUPERVISOR, Envelope, Source
from kafka_edu.trace.events.supervisor import ActionAsked, ProcessPaused
from tui.futures.compared_future import ComparedFuture
from tui.futures.first_difference import Parting
from tui.futures.futures_screen import FuturesPanel
from tui.futures.twin_app import TwinApp
from tui.model import Model
from tui.view_model.ticker import Ticker

B1 = Source.of_broker(1)
ASKED = Envelope(SUPERVISOR, 1, 0, 0, 10, ActionAsked(action="pause", target=B1))
PAUSED = Envelope(SUPERVISOR, 2, 1, 0, 20, ProcessPaused(process="broker-1", child=B1, pid=0))


def test_causes_are_computed_once_for_each_fact_that_the_history_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    computed: list[Envelope] = []
    chain = Ticker.chain
    monkeypatch.setattr(
        Ticker, "chain", lambda ticker, fact: (computed.append(fact), chain(ticker, fact))[1]
    )
    present, stored = (SimpleNamespace(model=Model("ch05")) for _ in range(2))
    difference = SimpleNamespace(found=Parting(PAUSED, None))
    panel = FuturesPanel(
        cast(ComparedFuture, SimpleNamespace(difference=difference)),
        cast(tuple[TwinApp, TwinApp], (present, stored)),
    )
    assert panel.needs(wide=True) == 2, "the history does not have its cause yet"
    present.model.apply([ASKED, PAUSED])
    for _ in range(3):
        assert panel.needs(wide=True) == 3
    assert computed == [PAUSED, PAUSED], "once without its cause, and once with it"

    difference.found = Parting(ASKED, None)
    for _ in range(3):
        assert panel.needs(wide=True) == 2
    assert computed == [PAUSED, PAUSED, ASKED]

    present.model = Model("ch05")
    present.model.apply([ASKED])
    panel.needs(wide=True)
    assert computed == [PAUSED, PAUSED, ASKED, ASKED], "another history"
