"""The exercises of chapter 03 try every order of the steps of several threads."""

from math import comb

import pytest

from exercises.ch03_delayed_operations.check_world import CheckWorld, lost_wake_up
from exercises.ch03_delayed_operations.ex04_lost_wake_up.material import run
from exercises.ch03_delayed_operations.orders import (
    LearnersThread,
    ScriptedThread,
    draw,
    one_order,
    try_all_orders,
)

EVENT = ScriptedThread("event", (("ready", "k"), ("check", "k")))


def request(*steps: object) -> ScriptedThread:
    return ScriptedThread("request", steps)


def test_the_number_of_orders_is_that_of_the_interleavings() -> None:
    for steps in (("try",), ("try", ("watch", "k")), ("try", ("watch", "k"), "look", "look")):
        found = try_all_orders(CheckWorld(("k",)), (request(*steps), EVENT), lambda _: "")
        assert found.orders == comb(len(steps) + 2, 2)
        assert found.faulty == 0
        assert found.first is None


def test_try_then_watch_loses_the_wake_up_in_one_of_six_orders() -> None:
    """The figures are those of chapter 03, section 6."""
    threads = request("try", ("watch", "k")), EVENT
    found = try_all_orders(CheckWorld(("k",)), threads, lost_wake_up)
    assert (found.faulty, found.orders) == (1, 6)
    assert found.first is not None
    assert [row.step for row in found.first.rows if not row.ended] == [
        "try",
        ("ready", "k"),
        ("check", "k"),
        ("watch", "k"),
    ]
    picture = draw(found.first, threads)
    assert picture[1] == " 1  try → False"
    assert picture[2] == " 2  " + " " * 38 + "ready k"
    twice = request("try", ("watch", "k"), "try"), EVENT
    found = try_all_orders(CheckWorld(("k",)), twice, lost_wake_up)
    assert (found.faulty, found.orders) == (0, 10)


def test_one_order_is_the_one_that_was_chosen() -> None:
    order = one_order(
        CheckWorld(("k",)),
        (request("try", ("watch", "k")), EVENT),
        lambda left: left[-1],
        lost_wake_up,
    )
    assert [row.thread for row in order.rows if not row.ended] == [1, 1, 0, 0]
    assert order.fault == ""


def test_a_thread_is_asked_once_for_each_history() -> None:
    asked = []

    class Made:
        def call(self, method: str, *arguments: object) -> object:
            asked.append(arguments)
            answers = arguments[-1]
            assert isinstance(answers, list)
            return ("end", "waits", 0) if len(answers) == 2 else ("step", "look", 7)

    thread = LearnersThread("mine", Made())  # type: ignore[arg-type]
    found = try_all_orders(CheckWorld(("k",)), (thread, EVENT), lambda world: "")
    assert found.orders == comb(4, 2)
    assert len(asked) == 3


@pytest.mark.parametrize("seed", range(15))
def test_every_run_of_03_4_has_one_wake_up_that_was_lost(seed: int) -> None:
    made = run(seed)
    world, (operation, event) = made.world, made.found
    assert world.holds(operation)
    assert operation not in world.completed
    lost = made.lines[event - 1]
    assert lost.busy
    assert lost.operation == operation
    after = [line for line in made.lines[event:] if line.operation == operation]
    assert not any("tries" in line.text for line in after)
    assert after[-1].text == f"operation {operation} times out"
    harmless = [line for line in made.lines if line.busy and line is not lost]
    assert harmless
    others = [number for number, _ in world.keys if number not in world.completed]
    assert sum(world.holds(number) for number in others) == 1 < len(others)
