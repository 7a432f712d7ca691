"""The benchmark of the simulator: it plays rounds, and its report has the same form as those of the
other benchmarks.
"""

import json
from pathlib import Path

import pytest

from benchmarks import sim_speed


def test_its_report_has_the_figures_and_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sim_speed, "AT_LEAST", 0.01)  # the speed of this machine is no test
    path = tmp_path / "speed.json"
    arguments = ["--seconds", "1", "--repeats", "1", "--profile", "--json", str(path)]
    assert sim_speed.main(arguments) == 0
    report = json.loads(path.read_text(encoding="utf-8"))
    assert report["figures"]["records acked"] > 50
    assert report["figures"]["records read"] == report["figures"]["records acked"]
    assert report["figures"]["facts"] > 100
    [target] = report["targets"]
    assert target["name"] == "virtual seconds a processor second"
    assert target["holds"]
    shares = {share["package"]: share for share in report["figures"]["profile"]}
    assert sum(share["percent"] for share in shares.values()) == pytest.approx(100, abs=2)
    assert shares["sim"]["calls"] > 1_000
    assert {"replication", "clients", "network", "generated code"} <= shares.keys()
    assert any("sim_loop.py" in line for line in report["figures"]["functions"])
    shown = capsys.readouterr().out
    assert "tottime" in shown
    assert "sim_loop.py" in shown
