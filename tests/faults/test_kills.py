"""A minute of kill -9 under two unmodified producers.

Every acked record is there, once, in order, and the replicas hold the same bytes.
"""

from pathlib import Path

import pytest

from tests.demos import play

pytestmark = pytest.mark.faults


def test_five_brokers_killed_the_controller_among_them_and_every_record_accounted_for(
    tmp_path: Path,
) -> None:
    played = play(tmp_path, "kills", "--seconds", "60")
    assert len(played.targets) == 7
    assert played.figures["refused, by error"] == {}
    assert played.figures["acked"] == played.figures["sent"] > 0
