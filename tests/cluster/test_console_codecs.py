"""The console tools write and read every codec with the packages of a bare install."""

import subprocess
from pathlib import Path

import pytest

from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.supervisor.cluster import running_cluster
from kafka_edu.tools.console_producer import CODECS
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.cluster


def test_the_console_consumer_reads_what_the_console_producer_wrote_by_every_codec(
    tmp_path: Path,
) -> None:
    environment = python_environment() | {"KAFKA_EDU_HOME": str(tmp_path)}

    def tool(*words: str, stdin: str = "") -> str:
        done = subprocess.run(
            python_command("kafka_edu", *words),
            env=environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    lines = {codec: [f"{codec} {i} {'x' * 100}" for i in range(20)] for codec in CODECS}
    with running_cluster("codecs", brokers=1) as cluster:
        servers = cluster.bootstrap_servers
        for codec, values in lines.items():
            tool(
                "console-producer",
                "--broker-list",
                servers,
                "--topic",
                "t",
                "--compression-codec",
                codec,
                stdin="\n".join(values) + "\n",
            )
        limits = [
            "--max-messages",
            str(sum(map(len, lines.values()))),
            "--timeout-ms",
            str(PATIENCE_S * 1000),
        ]
        read = tool(
            "console-consumer",
            "--bootstrap-server",
            servers,
            "--topic",
            "t",
            "--from-beginning",
            *limits,
        )
        (segment,) = (Path(cluster.folder.path) / "broker-0").glob("**/t-0/*.log")
        dumped = tool("dump-log", "--files", str(segment))
    assert sorted(read.splitlines()) == sorted(line for values in lines.values() for line in values)
    for codec in CODECS:
        assert f"compresscodec: {codec.upper()}" in dumped
