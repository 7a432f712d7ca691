"""The demo of follower fetch: readers see both anomalies at the followers, and none at the
leader.
"""

from pathlib import Path

import pytest

from tests.demos import play

pytestmark = pytest.mark.faults


@pytest.mark.rotated
def test_followers_show_both_anomalies_and_the_leader_none(tmp_path: Path) -> None:
    played = play(tmp_path, "follower-fetch", "--rounds", "3")
    assert len(played.targets) == 5
    assert played.figures["records acked (acks=all)"] == 300
    assert "Of 300 acked records" in played.said
    assert "At the leader none was missing." in played.said
