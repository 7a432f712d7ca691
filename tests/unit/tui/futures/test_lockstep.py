"""Two runs that wait for each other at the points (sampled moments) of the present run."""

from kafka_edu.trace.events.simulation import SimulationSampled
from tui.futures.lockstep import Lockstep


def at(
    us: int, *, turns: int = 0, state: str = "paused", turns_there: int = 1
) -> SimulationSampled:
    return SimulationSampled(
        state=state,
        at_us=us,
        run_us=0,
        speed_percent=100,
        unit="event",
        future=1,
        turns=turns,
        instant_ns=1_000 * us,
        turns_there=turns_there,
    )


def test_nothing_after_a_point_is_shown_before_the_other_run_has_come_to_it() -> None:
    steps = Lockstep([at(10), at(20)], [at(30)])
    assert steps.unsent == [at(10).point, at(20).point, at(30).point]
    assert not steps.together
    assert not steps.may_pass_present(at(30))
    steps.arrived_in_stored(at(10))
    assert steps.may_pass_stored(at(10)), "the present run has passed it long ago"
    steps.arrived_in_stored(at(20))
    assert steps.together
    assert not steps.may_pass_present(at(30))
    assert not steps.may_pass_stored(at(30)), "the stored run waits too"
    steps.arrived_in_stored(at(30))
    assert steps.may_pass_present(at(30))
    assert steps.may_pass_stored(at(30))
    assert steps.together


def test_two_points_at_the_same_time_are_two_points() -> None:
    steps = Lockstep([at(10)], [at(10, turns_there=2)])
    steps.arrived_in_stored(at(10))
    assert not steps.may_pass_present(at(10, turns_there=2))
    steps.arrived_in_stored(at(10, turns_there=2))
    assert steps.may_pass_present(at(10, turns_there=2))


def test_a_run_that_stands_still_is_sampled_again_without_a_new_point() -> None:
    steps = Lockstep([at(10)], [])
    steps.unsent.clear()
    steps.arrived_in_present(at(10))
    steps.arrived_in_present(at(10, state="replaying"))
    assert steps.unsent == []


def test_after_a_step_back_in_time_the_samples_of_before_are_void() -> None:
    steps = Lockstep([at(10), at(20)], [])
    steps.arrived_in_stored(at(20))
    steps.arrived_in_present(at(15, turns=1))
    steps.arrived_in_present(at(20, turns=1))
    steps.arrived_in_stored(at(20))
    assert not steps.may_pass_present(at(15, turns=1)), "the stored run has still to go back"
    steps.arrived_in_stored(at(15, turns=1))
    assert steps.may_pass_present(at(15, turns=1))
    assert not steps.may_pass_present(at(20, turns=1))


def test_a_stored_run_that_has_ended_holds_nobody_up() -> None:
    steps = Lockstep([at(10)], [at(20)])
    steps.arrived_in_stored(at(12, state="ended"))
    assert steps.may_pass_present(at(20))
    assert steps.together
    steps = Lockstep([at(10)], [at(20)])
    steps.fail()
    assert steps.may_pass_present(at(20))


def test_points_that_both_have_left_are_forgotten() -> None:
    steps = Lockstep([], [])
    for us in range(1, 1_000):
        steps.arrived_in_present(at(us))
        steps.arrived_in_stored(at(us))
        assert steps.may_pass_present(at(us))
    assert len(steps._numbers) < 5
