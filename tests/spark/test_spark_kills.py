"""The demo spark-kills, as a user starts it: after three kills, every line is in the output exactly
once.
"""

import os
from pathlib import Path

import pytest

from tests.demos import play

pytestmark = pytest.mark.long


def test_a_job_an_executor_and_a_broker_killed_and_every_line_accounted_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith(("PYSPARK_", "SPARK_"))]:
        monkeypatch.delenv(name)  # those of another test's session
    played = play(tmp_path, "spark-kills")
    assert played.figures["batches that were running when the job was killed"]
    compared = [name for name in played.targets if name.startswith("differences from the truth")]
    assert len(compared) == 24
    assert played.targets["at least once, topic: lines doubled"] > 0
    assert played.targets["at least once, Parquet: lines doubled"] > 0
