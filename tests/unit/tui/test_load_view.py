"""The loads in the head of each screen: counts, rates, and the end of a load's process."""

from kafka_edu.instruments.link_events import LinkLost
from kafka_edu.trace.event import Envelope, Event, Source, SourceKind
from kafka_edu.trace.events.client import LoadSampled, LoadStarted, LoadState, LoadStopped
from tui.view_model.load_view import LoadsView

FIRST, SECOND = Source(SourceKind.CLIENT, 1), Source(SourceKind.CLIENT, 2)


def state(acked: int, topic: str = "load") -> LoadState:
    return LoadState(
        topic=topic,
        group="load",
        acks="all",
        rate=500,
        producers=1,
        consumers=1,
        sent=acked + 3,
        acked=acked,
        refused=0,
        waiting=3,
        oldest_ms=12,
        read=acked,
        read_again=0,
        lost=0,
        error="",
    )


def envelope(source: Source, event: Event, at_ms: int) -> Envelope:
    return Envelope(source, 0, 0, 0, at_ms * 1000, event)


def test_a_load_is_counted_until_its_process_is_gone() -> None:
    view = LoadsView()
    view.apply(envelope(FIRST, LoadStarted(load=state(0)), 0))
    for tick in range(1, 11):
        view.apply(envelope(FIRST, LoadSampled(load=state(50 * tick)), 100 * tick))
    (load,) = view.running()
    assert (load.state.acked, load.acked.now, load.stopped) == (500, 500.0, False)
    view.apply(envelope(FIRST, LoadStopped(load=state(520)), 1100))
    assert (load.state.acked, load.stopped) == (520, True)
    view.apply(envelope(FIRST, LinkLost(reason="closed"), 1200))
    assert view.running() == []


def test_loads_stand_in_the_order_of_their_numbers_and_brokers_are_no_loads() -> None:
    view = LoadsView()
    view.apply(envelope(SECOND, LoadSampled(load=state(1, "b")), 0))
    view.apply(envelope(FIRST, LoadSampled(load=state(1, "a")), 0))
    view.apply(envelope(Source.of_broker(0), LinkLost(reason="closed"), 0))
    assert [load.state.topic for load in view.running()] == ["a", "b"]
