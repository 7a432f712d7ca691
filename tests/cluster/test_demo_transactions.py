"""`demo transactions` as a user starts it: each input counts exactly once, whatever is killed, for every client that can run here."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from kafka_edu.cli.python_process import python_command, python_environment
from tests.cluster.processes import processes_of

pytestmark = [pytest.mark.timeout(900), pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="these tests look for processes in /proc")]


def run(tmp_path: Path, environment: dict[str, str]) -> tuple[str, dict[str, object]]:
    figures = tmp_path / "transactions.json"
    command = python_command("kafka_edu", "demo", "transactions", "--seconds", "25", "--rate", "200", "--json", str(figures))
    done = subprocess.run(command, env=python_environment() | environment, capture_output=True, text=True, check=False, timeout=880)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(figures.read_text())
    assert report["name"] == "transactions"
    assert [target for target in report["targets"] if not target["holds"]] == []
    assert not processes_of(str(tmp_path))
    return done.stdout, report["figures"]


def test_each_input_counts_exactly_once(tmp_path: Path) -> None:
    _, figures = run(tmp_path, {"TMPDIR": str(tmp_path)})
    clients = ["confluent-kafka", *(["java"] if shutil.which("javac") and shutil.which("mvn") else [])]
    for client in clients:
        assert figures[f"{client}: records for read_committed"] == figures["input records"] > 2000
        assert figures[f"{client}: times killed"] == 3
    assert sum(int(str(figures[f"{client}: of these, of aborted transactions"])) for client in clients) > 0, "no kill met an open transaction"


def test_without_java_it_runs_with_confluent_kafka_alone_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    said, figures = run(tmp_path, {"TMPDIR": str(tmp_path), "PATH": str(tmp_path / "bin")})
    assert "without the Java client" in said
    assert "java: records for read_committed" not in figures
