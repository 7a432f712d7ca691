"""`demo control-plane` as a user starts it.

With a listener of its own, the controller is served at once, whatever waits in the broker's queue.
"""

from pathlib import Path

import pytest

from tests.demos import play

pytestmark = pytest.mark.faults


@pytest.mark.rotated
def test_a_backlog_of_produce_before_leader_and_isr_and_stop_replica(tmp_path: Path) -> None:
    played = play(
        tmp_path, "control-plane", "--rounds", "3", of_speed=("LeaderAndIsr", "a topic's deletion")
    )
    assert [name.partition(":")[0] for name in played.targets] == [
        "LeaderAndIsr",
        "a topic's deletion",
        "produce requests that failed otherwise",
    ]
