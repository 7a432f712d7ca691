"""A rule that elects leaders is tried in every order of a small cluster's events."""

import io
import re
from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path

import pytest

from kafka_edu.instruments.recording import read_recordings
from kafka_edu.instruments.sentences.table import fact_text
from kafka_edu.sim.all_orders import explore
from kafka_edu.sim.election_orders import (
    ClusterEvent,
    Elect,
    ElectionSpace,
    ElectionWorld,
    parse_events,
)
from kafka_edu.sim.election_recording import OrderRecording
from kafka_edu.trace.event import EVENT_TYPES, SUPERVISOR, Kind
from kafka_edu.trace.wire_format import encode, encode_header

EVENTS = "produce a, fetch 1, lag, kill 0, start 0, kill 1"


def in_sync(replicas: Sequence[int], isr: Sequence[int], live: Sequence[int]) -> int | None:
    """Kafka's rule: the first of AR that is alive and in the ISR."""
    return next((one for one in replicas if one in live and one in isr), None)


def any_live(replicas: Sequence[int], isr: Sequence[int], live: Sequence[int]) -> int | None:
    """The wrong rule: the ISR is forgotten."""
    return next((one for one in replicas if one in live), None)


def orders_by_hand(
    brokers: int, text: str, elect: Elect
) -> Iterator[tuple[tuple[ClusterEvent, ...], str]]:
    """Yield each possible order up to its first fault. Equal states are not merged."""
    seen = set()
    for order in permutations(parse_events(text, brokers)):
        world, done, left = ElectionWorld(brokers, elect), [], list(order)
        while not world.fault() and (event := next(filter(world.possible, left), None)):
            world.do(event)
            done.append(event)
            left.remove(event)
        if tuple(done) not in seen:
            seen.add(tuple(done))
            yield tuple(done), world.fault()


@pytest.mark.parametrize("text", ["produce a, lag, kill 0", EVENTS])
def test_the_wrong_rule_loses_a_record_after_three_events_and_not_before(text: str) -> None:
    space = ElectionSpace(2, parse_events(text, 2), any_live)
    found = explore(space, space.begin())
    assert found.shortest is not None
    assert list(map(str, found.shortest.moves)) == ["produce a", "lag", "kill 0"]
    assert found.shortest.fault == ("broker 1 leads t-0 without record 'a', which was acknowledged")


def test_no_shorter_order_is_wrong_and_merged_states_hide_none() -> None:
    """All 120 orders of five events, one by one."""
    text = "produce a, fetch 1, lag, kill 0, start 0"
    by_hand = list(orders_by_hand(2, text, any_live))
    wrong = [order for order, fault in by_hand if fault]
    space = ElectionSpace(2, parse_events(text, 2), any_live)
    found = explore(space, space.begin(), counts_all=True)
    assert (found.orders, found.faulty) == (len(by_hand), len(wrong))
    assert found.shortest is not None
    assert len(found.shortest.moves) == min(map(len, wrong)) == 3
    assert found.states < sum(map(len, by_hand)), "equal states are followed once"


def test_the_right_rule_passes_in_every_order() -> None:
    space = ElectionSpace(2, parse_events(EVENTS, 2), in_sync)
    found = explore(space, space.begin())
    assert found.shortest is None
    assert not found.left_out
    assert found.orders == len(list(orders_by_hand(2, EVENTS, in_sync))) > 100


def test_three_brokers_take_part() -> None:
    text = "produce a, fetch 1, lag, kill 0"
    space = ElectionSpace(3, parse_events(text, 3), lambda replicas, isr, live: max(live))
    found = explore(space, space.begin())
    assert found.shortest is not None
    assert found.shortest.fault.startswith("broker 2 leads t-0 without record 'a'")
    assert len(found.shortest.moves) == 3


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (None, "no replica leads t-0, although 1 is alive and in the ISR"),
        (0, "elect([0, 1], [0, 1], [1]) returned 0, and that is neither a live broker nor None"),
        (7, "elect([0, 1], [0, 1], [1]) returned 7, and that is neither a live broker nor None"),
        (True, "elect([0, 1], [0, 1], [1]) returned True, and"),
        ("1", "elect([0, 1], [0, 1], [1]) returned '1', and"),
    ],
)
def test_an_answer_that_elects_nobody_is_wrong_at_once(answer: object, fault: str) -> None:
    space = ElectionSpace(2, parse_events("kill 0, produce a", 2), lambda *_: answer)
    found = explore(space, space.begin())
    assert found.shortest is not None
    assert list(map(str, found.shortest.moves)) == ["kill 0"]
    assert found.shortest.fault.startswith(fault)


def test_a_rule_is_asked_once_for_the_same_sets() -> None:
    asked = []

    def noted(replicas: Sequence[int], isr: Sequence[int], live: Sequence[int]) -> int | None:
        asked.append((tuple(replicas), tuple(isr), tuple(live)))
        return in_sync(replicas, isr, live)

    space = ElectionSpace(2, parse_events(EVENTS, 2), noted)
    explore(space, space.begin())
    assert len(asked) == len(set(asked)) > 2


@pytest.mark.parametrize(
    ("text", "brokers", "why"),
    [
        ("kill 2", 2, "the brokers are 0 to 1"),
        ("kill", 2, "'kill' is not an event; the events are"),
        ("explode 1", 2, "'explode 1' is not an event"),
        ("", 2, "there are 0 events"),
        (", ".join(["lag"] * 9), 2, "there are 9 events; 1 to 8"),
        ("lag", 4, "4 brokers are not 1 to 3"),
        ("produce a, produce a", 2, "two records have the same value"),
    ],
)
def test_bad_events_are_named(text: str, brokers: int, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        parse_events(text, brokers)


def test_a_wrong_order_is_a_recording_that_tells_it(tmp_path: Path) -> None:
    space = ElectionSpace(2, parse_events(EVENTS, 2), any_live)
    found = explore(space, space.begin())
    assert found.shortest is not None
    events = OrderRecording(space, "elect.py").play(found.shortest.moves, found.shortest.fault)
    file = io.BytesIO()
    file.write(encode_header(SUPERVISOR, "every order"))
    file.writelines(map(encode, events))
    path = tmp_path / "wrong.jsonl"
    path.write_bytes(file.getvalue())
    facts = [
        f"{one.source}: {fact_text(one.event)}"
        for one in read_recordings([path])
        if EVENT_TYPES[one.name].kind is Kind.FACT
    ]
    told = iter(facts)
    for wanted in (
        "supervisor: step 1 of 3: produce a",
        "broker 0: appends offset 0 to t-0",
        "supervisor: step 2 of 3: lag",
        "broker 0: ISR of t-0 shrinks {0,1} → {0}",
        "supervisor: step 3 of 3: kill 0",
        "supervisor: broker 0 killed by SIGKILL",
        "broker 2: leader of t-0 broker 0 → 1 UNCLEAN",
        "broker 1: leads t-0 from offset 0 on",
        "supervisor: ✕ the rule is wrong: broker 1 leads t-0 without record 'a', which was"
        " acknowledged (elect.py)",
    ):
        assert any(fact.startswith(wanted) for fact in told), (wanted, facts)
    assert facts[-1].startswith("supervisor: ✕")
