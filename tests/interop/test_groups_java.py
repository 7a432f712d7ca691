"""The Java 3.9 consumer in groups, unmodified, against three brokers: range, cooperative and static members (spec O1, O2, I2)."""

import subprocess
from pathlib import Path

import pytest
from tests.interop.test_clients_java import HERE, java_clients

from kafka_edu.cli.supervisor import running_cluster

__all__ = ["java_clients"]

EAGER = "org.apache.kafka.clients.consumer.RangeAssignor"
COOPERATIVE = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"


@pytest.mark.timeout(300)
def test_members_come_commit_and_go(java_clients: Path) -> None:
    with running_cluster("java-groups", props={"group.initial.rebalance.delay.ms": "100", "offsets.topic.num.partitions": "10"}) as cluster:
        for topic, assignor, instances in (("eager", EAGER, ""), ("cooperative", COOPERATIVE, ""), ("static", EAGER, "i-")):
            command = ["java", "-cp", f"{java_clients}/*", str(HERE / "Groups.java"), cluster.bootstrap_servers, topic, assignor, instances]
            done = subprocess.run(command, capture_output=True, text=True, timeout=80)
            assert done.returncode == 0, done.stdout + done.stderr[-3000:]
            name = "cooperative-sticky" if assignor is COOPERATIVE else "range"
            common = ["one has all", "each has half", "all was read"]
            if instances:
                assert done.stdout.splitlines() == [*common, "it has what it had", "more revocations 0", f"Stable {name} 2", "committed 400"]
            else:
                assert done.stdout.splitlines() == [*common, "one has all again", f"Stable {name} 1", "committed 400"]
