"""`demo shutdown` as a user starts it.

SIGTERM costs no record and no recovery. kill -9 costs a session time-out and a recovery. Neither
costs an acked record.
"""

from pathlib import Path

import pytest

from tests.demos import play

pytestmark = pytest.mark.faults


@pytest.mark.rotated
def test_sigterm_beside_kill(tmp_path: Path) -> None:
    said, found, targets = play(tmp_path, "shutdown", "--partitions", "12", "--rate", "600")
    assert targets["SIGTERM: produce requests failed"] == 0
    assert found["SIGTERM: leaders moved"] == found["kill -9: leaders moved"] == 4
    assert found["kill -9: ms without a leader, median partition"] > 3000, "the session lasts 6 s"
    assert found["records sent"] > 3000
    assert "A broker stops" in said
