"""A tool's help needs little: clients and ZooKeeper are imported only when they are used."""

import subprocess

from kafka_edu.cli.command_table import COMMANDS, read_group
from kafka_edu.common.python_process import python_command, python_environment

HEAVY = {
    "kafka",
    "kazoo",
    "confluent_kafka",
    "cramjam",
    "kafka_edu.protocol",
    "kafka_edu.server",
    "kafka_edu.zk",
}
#: It decodes the files of a log in this process, so it needs the record format at once.
READS_FILES = "dump-log"


def test_no_tool_imports_a_client_before_it_is_used() -> None:
    modules = [
        entry.module
        for entry in read_group(COMMANDS).values()
        if entry.module.startswith("kafka_edu.tools.") and entry.name != READS_FILES
    ]
    assert len(modules) >= 11
    program = f"import sys, {', '.join(modules)}; print(*({HEAVY!r} & set(sys.modules)))"
    command = [*python_command("-")[:-2], "-c", program]
    done = subprocess.run(
        command, capture_output=True, text=True, env=python_environment(), timeout=60, check=True
    )
    assert done.stdout.split() == []
