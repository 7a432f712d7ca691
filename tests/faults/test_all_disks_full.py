"""Every disk of a cluster is full: ZooKeeper stops and says why, the brokers stop soon after it,
and the command `why` names them all.

The disks are real and small. The test is skipped where the system does not let us mount.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_edu.common.python_process import command_line

pytestmark = pytest.mark.faults

#: Runs two brokers and ZooKeeper, each with its data on a small disk of its own, and fills all
#: disks at once. Prints what the supervisor says of ZooKeeper, and how the brokers ended.
SCRIPT = """
import contextlib, re, sys, time
from pathlib import Path
from chapters.demo_parts.private_mounts import enter

home = Path(sys.argv[1])
mounts = enter()
if mounts.refused:
    sys.exit("skip: " + mounts.refused)

from click.testing import CliRunner
from kafka_edu.cli.why_command import why
from kafka_edu.clients.admin.new_topic import make_assigned_topic
from kafka_edu.supervisor.cluster import ClusterError, running_cluster
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import ZOOKEEPER
from tests.waiting import wait_for
from confluent_kafka import Producer
from kazoo.client import KazooClient

folder = ClusterFolder.of("full", home)
disks = [folder.zookeeper(), *(folder.broker_data(broker) for broker in (0, 1))]
for disk in disks:
    disk.mkdir(parents=True)
    mounts.small_disk(disk, 8 * 1024 * 1024)

with running_cluster("full", brokers=2, home=home, props={"log.index.size.max.bytes": "4096"}) as c:
    make_assigned_topic(c.bootstrap_servers, "t", {0: [0, 1], 1: [1, 0]})
    for disk in disks:
        with contextlib.suppress(OSError), (disk / "ballast").open("wb", buffering=0) as ballast:
            while True:
                ballast.write(bytes(4096))
    producer = Producer({"bootstrap.servers": c.bootstrap_servers, "log_level": 0})
    for partition in (0, 1):
        producer.produce("t", bytes(500_000), partition=partition)
    writer = KazooClient(c.zookeeper_connect)
    writer.start()
    writer.create_async("/large", bytes(900_000))

    def ended(process):
        found = next(p for p in c.status().processes if p.process == process)
        return found.ended if found.state == "stopped" else ""

    print(wait_for(lambda: ended("zookeeper"), "ZooKeeper ends").replace(str(home), ""))
    try:
        c.perform("delete-controller", {})
    except ClusterError as error:
        print(str(error).replace(str(home), ""))
    writer.stop()
    writer.close()
    for broker in ("broker-0", "broker-1"):
        print(wait_for(lambda: (producer.poll(0), ended(broker))[1], f"{broker} ends")[:30])
    for broker in (0, 1):
        said = c.log_text(broker)
        at = [
            time.mktime(time.strptime(line[1:20], "%Y-%m-%d %H:%M:%S"))
            for line in said.splitlines()
            if "the broker stops: " in line or "the broker has stopped, " in line
        ]
        print("stopping took", round(at[1] - at[0]), "s", file=sys.stderr)
        print("ZooKeeper does not answer, so the broker" in said)
    told = CliRunner().invoke(why, ["--cluster", "full"], env={"KAFKA_EDU_HOME": str(home)})
    words = " ".join(told.output.split()).replace(str(home), "")
    gone, _, _ = words.removeprefix("Ended unexpectedly ✕ ").partition(" Nothing waits.")
    for one in gone.split(" ✕ "):
        print(one[:30] if one.startswith("broker") else one)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a small disk of its own needs Linux")
def test_zookeeper_names_its_disk_and_the_brokers_do_not_wait_for_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=580,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    if done.stderr.startswith("skip: "):
        pytest.skip(done.stderr.removeprefix("skip: ").strip())
    assert done.returncode == 0, done.stderr
    print(done.stderr)
    why = (
        "ended with code 1: its data in /clusters/full/zookeeper cannot be written: No space left"
        " on device"
    )
    assert done.stdout.splitlines() == [
        why,
        f"zookeeper is stopped ({why}): start it first",
        "ended with code 1: Shutdown br",
        "ended with code 1: Shutdown br",
        "True",
        "True",
        "broker-0 ended with code 1: Sh",
        "broker-1 ended with code 1: Sh",
        f"zookeeper {why}. Start it again with: {command_line('cluster start zookeeper', 'full')}",
    ]
