"""The demo as a user starts it, without a terminal: its figures, its exit code, and that no process
is left afterwards.
"""

import signal
import subprocess
from pathlib import Path

import pytest

from kafka_edu.common.python_process import python_command, python_environment
from tests.cluster.processes import processes_of
from tests.demos import play
from tests.waiting import PATIENCE_S, wait_for

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        not Path("/proc/self/stat").exists(), reason="these tests look for processes in /proc"
    ),
]


def test_no_acked_record_is_lost_when_the_leader_is_killed(tmp_path: Path, zookeeper: str) -> None:
    home = tmp_path / "home mit ü"
    said, result, _ = play(
        tmp_path,
        "",
        "--seconds",
        "4",
        "--rate",
        "300",
        "--zookeeper",
        zookeeper,
        environment={"KAFKA_EDU_HOME": str(home)},
    )
    assert result["produced"] == result["acked"] == result["consumed"] > 0
    assert result["lost"] == result["duplicates"] == result["failed"] == 0
    assert result["statuses_agree"] is True
    assert set(result["leaders_before"]) == {result["killed_broker"]}
    assert result["killed_broker"] not in result["leaders_after"]
    assert result["seconds_without_leader"] > 0
    assert f"leader of web-{result['partitions'][0]} before → after" in said
    assert not processes_of(str(tmp_path))
    assert not (home / "clusters" / "demo").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_in_the_middle_it_leaves_nothing(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    environment = python_environment() | {"KAFKA_EDU_HOME": str(tmp_path)}
    with subprocess.Popen(
        python_command("kafka_edu", "demo"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
    ) as demo:
        assert demo.stdout is not None
        while "topic web" not in demo.stdout.readline():
            assert demo.poll() is None
        wait_for(
            lambda: any(log.stat().st_size for log in tmp_path.rglob("web-*/*.log")),
            "the stream of records has begun",
        )
        assert processes_of(str(tmp_path))
        demo.send_signal(number)
        assert demo.wait(PATIENCE_S) == code
    assert not processes_of(str(tmp_path))
    assert not (tmp_path / "clusters" / "demo").exists()
