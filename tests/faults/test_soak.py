"""`soak` as a user starts it: it runs for half a minute with a kill, in two parts. Ctrl-C ends the
first part.
"""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from kafka_edu.common.python_process import python_command, python_environment
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.faults


#: The machine may be slow, and only a missing answer is a fault here.
GRACE_S = "20"


def soak(folder: Path, *options: str) -> "subprocess.Popen[str]":
    command = python_command(
        "kafka_edu",
        "soak",
        *options,
        *("--act-every", "3"),
        *("--disk-writers", "1"),
        *("--grace", GRACE_S),
    )
    surroundings = python_environment() | {"KAFKA_EDU_HOME": str(folder), "TMPDIR": str(folder)}
    return subprocess.Popen(
        command, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def answered(state: Path) -> int:
    if not state.exists():
        return 0
    return int(json.loads(state.read_text())["parts"][-1]["requests_answered"])


@pytest.mark.rotated
def test_a_soak_in_two_parts_finds_no_stuck_request_and_no_lost_record(tmp_path: Path) -> None:
    state, figures = tmp_path / "state.json", tmp_path / "figures.json"
    first = soak(tmp_path, "--minutes", "0.6", "--state", str(state))
    while answered(state) == 0:
        assert first.poll() is None, first.communicate()
        time.sleep(0.1)
    first.send_signal(signal.SIGINT)
    said, complained = first.communicate(timeout=PATIENCE_S)
    assert first.returncode == 130, said + complained
    assert complained.count("\n") == 1
    assert "--resume" in complained

    refused = soak(tmp_path, "--minutes", "0.6", "--state", str(state))
    assert "add --resume" in refused.communicate(timeout=PATIENCE_S)[1]

    second = soak(
        tmp_path, "--minutes", "0.6", "--state", str(state), "--resume", "--json", str(figures)
    )
    said, complained = second.communicate(timeout=300)
    assert second.returncode == 0, said + complained
    report = json.loads(figures.read_text())
    assert [target for target in report["targets"] if not target["holds"]] == []
    found = report["figures"]
    assert found["parts"] == 2
    assert found["acts"]["kill -9 and restart"] >= 1
    assert found["probe requests answered"] > 500
    assert found["records read by the group"] >= found["records acked"] > 5_000
    assert found["trace events read"] > 1_000
    assert [path.name for path in tmp_path.iterdir() if "soak" in path.name] == [], (
        "nothing is left behind"
    )
