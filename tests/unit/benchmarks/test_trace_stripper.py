"""The copy of the code without tracing: no call of the tracer remains, every module can be
imported, and a cluster works.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.trace_stripper import broker_modules, strip_source, trace_calls, write_stripped

SERVES = """
import importlib, pkgutil, sys
import kafka_edu
assert kafka_edu.__path__[0].startswith(sys.argv[1]), kafka_edu.__path__
for package in ("server", "network", "replication", "log", "purgatory", "timer", "coordinator",
                "controller", "cluster", "zk"):
    parent = importlib.import_module(f"kafka_edu.{package}")
    for module in pkgutil.walk_packages(parent.__path__, parent.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Level, SourceKind
cluster = SimCluster(7, (1, 2, 3), {}, Level.ALL)
cluster.start_all()
client = SimClient(cluster)
cluster.run_as(client.process, client.create_topic("web", 1, 3))
cluster.advance(2000)
place = TopicPartition("web", 0)
answer = client.produce(place, "hello", -1)
cluster.advance(2000)
assert answer.acked is not None and answer.acked.offset == 0, answer.failed
leader = cluster.run_as(client.process, client.leader_of(place))
cluster.kill(leader)
cluster.advance(20_000)
assert cluster.run_as(client.process, client.consume(place, 0)) == [(0, "hello")]
silent = (SourceKind.BROKER, SourceKind.ZOOKEEPER)
told = [e for e in cluster.sink.events if e.source.kind in silent]
assert not told, told[:3]
print("serves without an event")
"""


@pytest.mark.cluster
def test_a_copy_without_tracing_imports_and_serves(tmp_path: Path) -> None:
    removed = write_stripped(tmp_path)
    assert removed > 150
    left = {
        str(path.relative_to(tmp_path)): lines
        for path in broker_modules(tmp_path)
        if (lines := list(trace_calls(path.read_text(encoding="utf-8"))))
    }
    assert not left
    program = tmp_path / "serves.py"
    program.write_text(SERVES, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-B", str(program), str(tmp_path)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.stdout == "serves without an event\n", ran.stderr


@pytest.mark.parametrize(
    ("source", "stripped"),
    [
        ("if self._trace:\n    self._trace(A(x=1))\n", "pass\n"),
        ("if trace is not None and trace.hops:\n    trace(A())\nelse:\n    b()\n", "b()\n"),
        ("if not self._trace:\n    return_early()\n", "return_early()\n"),
        ("if self._trace is None:\n    a()\n", "a()\n"),
        ("if ready and self._trace:\n    self._trace(A())\n", "pass\n"),
        ("if trace is None or ready:\n    a()\n", "a()\n"),
        ("if trace or ready:\n    a()\n", "if ready:\n    a()\n"),
        ("told = self._trace(A())\n", "told = 0\n"),
        ("told = trace(A()) if trace else 7\n", "told = 7\n"),
        ("with self._trace.because(told):\n    a()\n    b()\n", "a()\nb()\n"),
        ("with because(trace, told), lock:\n    a()\n", "with lock:\n    a()\n"),
        ("x = await self._trace.carry(told, work())\n", "x = await work()\n"),
        ("self._asked = self._trace.cause\n", "self._asked = 0\n"),
        ("Part(time, self._trace)\n", "Part(time, self._trace)\n"),
        ("self._trace = trace\n", "self._trace = trace\n"),
        ("path = path or '/'\n", "path = path or '/'\n"),
        ("cause = cause or trace.cause\n", "cause = cause\n"),
        ("if enough:\n    trace(A())\n", "if enough:\n    pass\n"),
    ],
)
def test_what_depends_on_a_tracer_is_decided(source: str, stripped: str) -> None:
    assert strip_source(source).rstrip("\n") == stripped.rstrip("\n")
