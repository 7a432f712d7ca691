"""`bench recovery` and `bench idle-partitions` run with small sizes, on our broker and on Apache
Kafka.
"""

import json
from pathlib import Path

import pytest

from benchmarks import idle_partitions, recovery
from benchmarks.one_broker import APACHE, OURS
from tests.interop.external_programs import apache_kafka_jars

pytestmark = pytest.mark.interop


@pytest.mark.rotated
def test_a_small_log_is_recovered_by_both(tmp_path: Path) -> None:
    apache_kafka_jars()
    file = tmp_path / "recovery.json"
    assert recovery.main(["--megabytes", "20", "--repeats", "1", "--json", str(file)]) == 0
    figures = json.loads(file.read_text())["figures"]
    for name in (OURS, APACHE):
        after_kill = figures[f"{name}: MiB read after kill -9"]
        assert after_kill - figures[f"{name}: MiB read after a clean stop"] > 18, (
            "the whole log is read after a kill, and nothing of it after a clean stop"
        )
        assert figures[f"{name}: seconds after kill -9"] > 0


def test_a_few_idle_partitions(tmp_path: Path) -> None:
    apache_kafka_jars()
    file = tmp_path / "idle.json"
    options = ["--partitions", "50", "--settle", "0", "--json", str(file)]
    assert idle_partitions.main(options) == 0
    figures = json.loads(file.read_text())["figures"]
    for name in (OURS, APACHE):
        assert figures[f"{name}: RssAnon with the partitions, MB"] > 10
        assert figures[f"{name}: open files"] > 50
