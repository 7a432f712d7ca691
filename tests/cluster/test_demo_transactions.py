"""`demo transactions` as a user starts it: each input counts exactly once, whatever is killed.

It runs with every client that can run here.
"""

import shutil
from pathlib import Path

import pytest

from tests.cluster.processes import processes_of
from tests.demos import play

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        not Path("/proc/self/stat").exists(), reason="these tests look for processes in /proc"
    ),
]


def run(tmp_path: Path, environment: dict[str, str] | None = None) -> tuple[str, dict[str, object]]:
    said, figures, _ = play(
        tmp_path, "transactions", "--seconds", "25", "--rate", "200", environment=environment
    )
    assert not processes_of(str(tmp_path))
    return said, figures


@pytest.mark.rotated
def test_each_input_counts_exactly_once(tmp_path: Path) -> None:
    _, figures = run(tmp_path)
    clients = [
        "confluent-kafka",
        *(["java"] if shutil.which("javac") and shutil.which("mvn") else []),
    ]
    for client in clients:
        assert figures[f"{client}: records for read_committed"] == figures["input records"] > 2000
        assert figures[f"{client}: times killed"] == 3
    assert (
        sum(int(str(figures[f"{client}: of these, of aborted transactions"])) for client in clients)
        > 0
    ), "no kill met an open transaction"


@pytest.mark.long  # a minute more; the test above runs both clients
def test_without_java_it_runs_with_confluent_kafka_alone_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    said, figures = run(tmp_path, {"PATH": str(tmp_path / "bin")})
    assert "without the Java client" in said
    assert "java: records for read_committed" not in figures
