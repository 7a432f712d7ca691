"""How virtual time follows real time at each speed."""

from kafka_edu.sim.stage.pace import MOST_BEHIND_S, SPEEDS, Pace


def test_virtual_time_follows_real_time_at_the_chosen_speed() -> None:
    pace = Pace()
    pace.anchor(10.0, 5_000_000_000)
    assert pace.wait_s(10.0, 6_000_000_000) == 1.0
    assert pace.wait_s(10.75, 6_000_000_000) == 0.25
    pace.change(-1)
    assert (pace.speed, pace.words) == (0.5, "×0.5")
    assert pace.wait_s(10.0, 6_000_000_000) == 2.0


def test_a_machine_that_is_too_slow_does_not_hurry_afterwards() -> None:
    pace = Pace()
    pace.anchor(0.0, 0)
    late_s = 1.0 + 2 * MOST_BEHIND_S
    assert pace.wait_s(late_s, 1_000_000_000) == 0.0
    assert pace.wait_s(late_s, 2_000_000_000) == 1.0


def test_speeds_end_with_as_fast_as_the_machine_can() -> None:
    pace = Pace()
    for _ in SPEEDS:
        pace.change(1)
    assert pace.words == "as fast as the machine can"
    assert pace.wait_s(0.0, 10**12) == 0.0
    for _ in SPEEDS:
        pace.change(-1)
    assert pace.speed == 0.01
