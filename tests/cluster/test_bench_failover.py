"""`bench failover` runs on a few partitions. It is not run with Apache Kafka, because that would
need Java and several minutes.
"""

import json

import pytest

from benchmarks import failover
from kafka_edu.zk.apache import ApacheZooKeeperError, check_installed

pytestmark = pytest.mark.cluster


@pytest.mark.rotated
def test_a_broker_is_stopped_and_the_controller_killed_under_the_probes(tmp_path):
    try:
        check_installed()
    except ApacheZooKeeperError as error:
        pytest.skip(str(error))
    file = tmp_path / "failover.json"
    only = ["--only", "creation", "--only", "sigterm", "--only", "controller-kill"]
    assert (
        failover.main(
            ["--peer", "ours", "--partitions", "30", "--repeats", "1", *only, "--json", str(file)]
        )
        == 0
    )
    document = json.loads(file.read_text())
    figures = document["figures"]
    assert figures["ours: creation until every ISR is full, s"] > 0
    assert figures["ours: sigterm, failed produces, all rounds"] == 0
    assert figures["ours: sigterm, longest gap, raw probe, s"] > 0
    assert figures["ours: controller-kill, signal until the znode is deleted, s"] > 2, (
        "a session of 6 s"
    )
    assert figures["ours: controller-kill, longest gap of a partition, s"] > 2
    parts = {"creation until every ISR is full", "sigterm", "controller-kill"}
    assert {target["name"].partition(":")[0] for target in document["targets"]} == parts
    assert [
        target["holds"] for target in document["targets"] if target["name"].startswith("creation")
    ] == [False], "there is nobody to compare with"
