"""`demo chain` as a user starts it: with real processes and an unmodified producer the chain is
complete, and no link is false.
"""

from pathlib import Path

import pytest

from tests.demos import play

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("options", [(), ("--controller",)], ids=["a leader", "the controller"])
def test_from_the_kill_to_the_ack(tmp_path: Path, options: tuple[str, ...]) -> None:
    said, found, targets = play(tmp_path, "chain", *options)
    assert targets["false links"] == 0
    assert found["kill: processes"] >= 5, (
        "supervisor, ZooKeeper, two brokers at least, and the producer"
    )
    assert found["kill: links by watch"] == 1
    assert found["kill: links by request"] >= 2, "one to the new leader, one to its follower"
    assert found["kill: links by acknowledgement"] == 1
    assert "begins here: somebody asked the supervisor for it" in said
    assert "begins here: a client that emits no events sent this request" in said
