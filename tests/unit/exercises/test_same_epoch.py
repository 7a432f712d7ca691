"""Exercise 05-6: in each run there is one thing to find, and it is the one that the page asks
for.
"""

import pytest

from exercises.ch05_zookeeper_election.ex06_same_epoch.material import make, run


@pytest.mark.parametrize("seed", range(8))
def test_one_epoch_is_written_and_led_twice(seed: int) -> None:
    made = run(seed)
    written = [event.writes for event in made.events if event.writes]
    assert sorted(written)[-1] == len(written), "all epochs but one follow each other, from 2 on"
    assert made.first.epoch == made.again.epoch
    assert made.first.broker != made.again.broker
    assert made.first.event < made.again.event
    for led in (made.first, made.again):
        event = made.events[led.event - 1]
        assert (event.broker, event.writes) == (led.broker, led.epoch)


@pytest.mark.parametrize("seed", range(8))
def test_the_run_fits_a_terminal(seed: int) -> None:
    assert max(map(len, make(seed)["events.txt"].splitlines())) <= 80
    assert len(run(seed).events) <= 60
