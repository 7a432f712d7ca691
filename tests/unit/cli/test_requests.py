"""The command `requests`, on samples that the broker's own code made in virtual time."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kafka_edu.cli.requests_command import requests
from kafka_edu.trace.file_sink import FileSink, snapshot_lines
from tests.unit.network.test_request_metrics import Bench


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record a broker that had 98 quick requests and two slow requests, which waited for a
    handler.
    """
    path = tmp_path_factory.mktemp("recordings") / "slow.jsonl"
    with path.open("wb") as file:
        bench = Bench()
        bench.tracer.on_snapshot(bench.metrics.snapshot)
        FileSink(bench.tracer, file, cluster="demo").attach("the recording")
        for _ in range(98):
            bench.serve({"local": 2})
        for _ in range(2):
            bench.serve({"request queue": 180, "local": 2})
        file.writelines(snapshot_lines(bench.tracer))
    return path


def run(recording: Path, *words: str) -> Result:
    return CliRunner().invoke(requests, [*words, "--replay", str(recording)])


def test_percentiles_by_api_and_the_slowest(recording: Path) -> None:
    result = run(recording)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0] == "broker 1"
    assert lines[1].split()[:4] == ["queue", "local", "remote", "throttle"]
    assert lines[2] == "ApiVersions, 100 requests"
    assert lines[3].split()[:2] == ["p50", "–"]
    assert 170 < float(lines[4].split()[1]) < 190, "p99 in the queue, in ms"
    assert "ApiVersions shop#7: 182 ms, of which 180 ms waiting for a handler" in result.output
    assert max(map(len, lines)) <= 80


def test_the_same_as_json(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "requests.json"
    assert run(recording, "--json", str(out), "--slowest", "1").exit_code == 0
    told = json.loads(out.read_text(encoding="utf-8"))
    (api,) = told["apis"]
    assert (api["api"], api["requests"]) == ("ApiVersions", 100)
    assert set(api["parts_us"]) >= {"request queue", "throttle", "total"}
    assert api["parts_us"]["throttle"]["p99"] == 0
    (slow,) = told["slowest"]
    assert slow["most"] == "request queue"
    assert sum(slow["parts_us"].values()) == slow["total_us"]


def test_slow_requests_of_one_client_and_an_unknown_broker(recording: Path) -> None:
    assert "shop#7" not in run(recording, "--client", "other").output
    result = run(recording, "--broker", "5")
    assert result.exit_code == 1
    assert "nothing is known of requests to broker 5. Brokers that are known: 1" in result.output
