"""A broker writes its recording and its capture of frames to disks that become full. It continues
to serve clients without them.

The disks are real and small. The test is skipped where the system does not let us mount.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.faults

#: Runs a broker that records into two disks of 256 KB, produces until both are full, and then
#: another 100 records.
SCRIPT = """
import sys, time
from pathlib import Path
from chapters.demo_parts.private_mounts import enter

folder = Path(sys.argv[1])
mounts = enter()
if mounts.refused:
    sys.exit("skip: " + mounts.refused)
disks = [folder / "recording", folder / "capture"]
for disk in disks:
    disk.mkdir()
    mounts.small_disk(disk, 256 * 1024)

from confluent_kafka import Producer
from kafka_edu.instruments.recording import read_recordings
from kafka_edu.instruments.wire.capture import read_capture
from kafka_edu.supervisor.cluster import running_cluster
from tests.waiting import wait_for

props = {
    "edu.record.file": f"{disks[0]}/events",
    "edu.record.level": "hops",
    "edu.capture.file": f"{disks[1]}/frames",
    "edu.capture.clients": "*",
    "auto.create.topics.enable": "true",
}
with running_cluster(brokers=1, props=props) as cluster:
    pid = cluster.pid(0)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 0})
    failures = []

    def on_delivery(error, _):
        if error is not None:
            failures.append(error)

    def produce(records):
        for number in range(records):
            producer.produce("web", bytes(500), on_delivery=on_delivery)
            producer.flush(60)

    def ended():
        produce(20)
        said = cluster.log_text(0)
        return "has failed and is left out" in said and "the capture of frames in" in said

    wait_for(ended, "both disks are full")
    produce(100)
    assert not failures, failures
    assert cluster.pid(0) == pid
    assert cluster.status().broker(0).state == "running"
    log = cluster.log_text(0)
    cluster.stop(0)
    assert "ended with code 0" in cluster.status().broker(0).ended
for line in log.splitlines():
    if "No space left on device" in line:
        print(line.partition("] ")[2].replace(str(folder), ""))
assert "Traceback" not in log, log
warnings = []
print(len(read_recordings([disks[0] / "events"], warnings.append)) > 100, warnings)
print(len(read_capture(disks[1] / "frames")) > 10)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a small disk of its own needs Linux")
def test_full_disks_of_instruments_cost_the_instruments_alone(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    if done.stderr.startswith("skip: "):
        pytest.skip(done.stderr.removeprefix("skip: ").strip())
    assert done.returncode == 0, done.stderr  # the client says there that the broker stopped
    assert sorted(done.stdout.splitlines()) == [
        "ERROR the recording /recording/events has failed and is left out from now on: No space"
        " left on device (kafka_edu.trace.tracer)",
        "INFO the capture of frames in /capture/frames has ended: /capture/frames cannot be"
        " written: No space left on device (kafka_edu.server.frame_captures)",
        "True",
        "True []",
    ]
