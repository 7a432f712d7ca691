"""Seeds of the general scenarios that once broke a rule. The comment after each seed names the bug,
which was in the simulator, in the checker or in kafka-edu. All these bugs are corrected.
"""

import pytest

from kafka_edu.cli.sim.playing import play_and_tell
from kafka_edu.cli.sim.scenario_files import load

pytestmark = pytest.mark.faults


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("cleaner", 156),  # a broker was stopped while it started, and went on
        ("controller", 14),  # everything was checked 79 ms after an election, with links of 40 ms
        ("controller", 17),  # a broker's metadata lacked partitions, and the producer mixed them up
        ("controller", 366),  # as in cleaner, 156
        ("groups", 10),  # a LeaveGroup waits for the JoinGroup before it on the same connection
        ("replication", 64),  # as in cleaner, 156
        ("replication", 218),  # a replica caught up by one small batch a fetch, with slow links
        ("replication", 328),  # a producer sent so much that the broker forgot an unanswered batch
        ("transactions", 92),  # as in cleaner, 156
    ],
)
def test_every_rule_holds(name: str, seed: int) -> None:
    result, _ = play_and_tell(load(name), seed, "")
    assert result.violations == ()
