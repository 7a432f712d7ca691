"""`demo compaction` as a user starts it, with real brokers and two unmodified producers."""

from pathlib import Path

import pytest

from tests.demos import play

pytestmark = pytest.mark.faults


@pytest.mark.rotated
def test_a_topic_is_compacted_under_load_and_keeps_each_last_value(tmp_path: Path) -> None:
    said, found, targets = play(tmp_path, "compaction")
    assert "Records removed from each group of segments" in said
    assert targets["keys without their last acked value"] == 0
    assert targets["records of aborted transactions that were read"] == 0
    gone = [f"{what}, removed on the leader" for what in ("superseded", "tombstones", "aborted")]
    assert all(found[name] > 0 for name in gone)
    assert found["records read at the end"] >= found["keys that have a value at the end"] > 0
