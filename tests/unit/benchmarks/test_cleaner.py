"""`bench cleaner` with little data: each log has a segment that the cleaner may clean."""

from pathlib import Path

import pytest

from benchmarks import cleaner
from benchmarks.cleaner import SEGMENT_BYTES, Peer, Speed, measure_speed
from kafka_edu.cli.report import Report


@pytest.mark.parametrize("scale", [0.01, 0.05, 0.5])
def test_a_small_scale_leaves_a_segment_to_clean(
    monkeypatch: pytest.MonkeyPatch, scale: float
) -> None:
    def cleaning(peer: Peer, topic: str, size: int, total: int) -> Speed:
        """Stand in for a run of the cleaner: its speed is the number of full segments. Without a
        full segment it cleans nothing.
        """
        closed = (total - 1) // SEGMENT_BYTES
        return Speed(float(closed), closed)

    monkeypatch.setattr(cleaner, "cleaning", cleaning)
    report = Report(cleaner.NAME)
    measure_speed([Peer("a", "", Path()), Peer("b", "", Path())], 1, scale, report)
    ratios = [target.value for target in report.targets]
    assert ratios == [1, 1]
