"""`demo two-starts` and `demo bad-disk` as a user starts them.

They use real processes and an unmodified client with acks=all, and look for every acked record.
"""

from pathlib import Path

import pytest

from tests.demos import play

pytestmark = pytest.mark.faults


def test_a_second_start_is_refused_and_the_first_broker_is_unharmed(tmp_path: Path) -> None:
    said, found, targets = play(tmp_path, "two-starts")
    assert targets["refusals that name the process that holds the lock"] == 2
    assert targets["files of the first broker changed by a second start"] == 0
    assert found["files of the first broker compared"] > 20
    assert "Failed to acquire lock on file .lock in " in said
    assert found["acked"] == found["sent"]


def test_a_log_dir_fails_in_five_ways_and_takes_only_its_replicas_offline(tmp_path: Path) -> None:
    said, found, targets = play(tmp_path, "bad-disk")
    for name, reason in found["skipped, and why"].items():
        assert f"skipped: {name}" in said, "nothing is skipped silently"
        assert reason
    for name in {
        "replaced by a file",
        "removed",
        "read-only",
        "full",
        "unreadable at the start",
    } - found["skipped, and why"].keys():
        assert found[f"{name}: offline"] == found[f"{name}: in bad dir"] != []
        assert found[f"{name}: bad dir error"] == "KAFKA_STORAGE_ERROR"
    assert targets["leaders left in a bad dir"] == 0
    assert (
        "Shutdown broker because all log dirs in "
        in found["the last words of the broker without a dir"]
    )
    assert found["acked"] == found["sent"]
    if found["skipped, and why"]:
        pytest.skip(
            "; ".join(f"{name}: {reason}" for name, reason in found["skipped, and why"].items())
            + " (the other cases passed)"
        )
