"""Which processes are brokers: found by whole arguments, however long the command line is."""

import subprocess
import sys
from pathlib import Path

import pytest

from kafka_edu.tools import server_stop
from kafka_edu.tools.server_start import BROKER_MODULE, main
from kafka_edu.tools.server_stop import running_brokers
from tests.waiting import PATIENCE_S


def sleeper(*arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()", *arguments],
        stdin=-1,
        stdout=-1,
    )


def test_a_broker_is_known_by_a_whole_argument_behind_thousands_of_others(tmp_path: Path) -> None:
    properties = str(tmp_path / "a folder" / "server.properties")
    broker = sleeper("x" * 10_000, "-m", BROKER_MODULE, properties)
    other = sleeper(f"grep {BROKER_MODULE} {properties}", f"{BROKER_MODULE}.py", properties)
    try:
        for process in (broker, other):
            assert process.stdout is not None
            process.stdout.readline()
        mine = [found for found in running_brokers() if found.properties == properties]
        assert mine == [(broker.pid, properties)]
        assert server_stop.main([properties]) == 0
        assert broker.wait(PATIENCE_S) != 0
        assert other.poll() is None
    finally:
        for process in (broker, other):
            process.kill()
            process.communicate()


def test_there_is_no_such_broker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert server_stop.main([str(tmp_path / "no.properties")]) == 1
    assert capsys.readouterr().out == "No kafka server to stop\n"


@pytest.mark.parametrize("words", [[], ["-daemon"]])
def test_a_broker_needs_a_file(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 1
    assert (
        capsys.readouterr().err
        == "USAGE: ./kafka-edu server-start [-daemon] server.properties [--override"
        " property=value]*\n"
    )
