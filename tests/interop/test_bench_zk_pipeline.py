"""`bench zk-pipeline` runs with a few partitions."""

import json

import pytest

from benchmarks import zk_pipeline
from tests.interop.external_programs import require_apache_zookeeper

pytestmark = pytest.mark.interop


def test_all_ways_read_and_write(tmp_path):
    require_apache_zookeeper()
    file = tmp_path / "pipeline.json"
    assert zk_pipeline.main(["--partitions", "50", "--repeats", "1", "--json", str(file)]) == 0
    figures = json.loads(file.read_text())["figures"]
    assert len(figures) == 2 * (1 + len(zk_pipeline.IN_FLIGHT)) * 5
    assert all(
        figures[f"{kind}, {n} in flight: requests/s"] > 0
        for kind in ("read", "write")
        for n in zk_pipeline.IN_FLIGHT
    )
