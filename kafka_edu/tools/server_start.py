"""Run a broker, with -daemon in the background (Kafka: kafka-server-start.sh).

With -daemon the broker's output goes to kafkaServer.out in $LOG_DIR, or in <home>/logs
(`kafka_edu.supervisor.cluster_folder`). The broker then has its own process session and keeps
running when the shell ends. Brokers of `cluster up` are started by their supervisor instead, and
end with it. (Kafka: Kafka.scala)
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from kafka_edu.common.python_process import (
    BROKER_MODULE,
    command_line,
    python_command,
    python_environment,
)
from kafka_edu.common.user_files import state_folder
from kafka_edu.tools.tool import ToolCommand

PURPOSE: Final = "Start a broker."
USAGE: Final = (
    f"USAGE: {command_line('server-start')} [-daemon] server.properties"
    " [--override property=value]*"
)
OUTPUT: Final = "kafkaServer.out"


def log_dir() -> Path:
    """Return the folder for the output of a broker in the background."""
    return Path(os.environ["LOG_DIR"]) if os.environ.get("LOG_DIR") else state_folder() / "logs"


def _starts(properties: str, others: Sequence[str]) -> bool:
    """Return whether the broker can start. Print the settings that have no effect.

    A broker in the background reports such settings only in its log.
    """
    from kafka_edu.common.files import OsFileSystem
    from kafka_edu.server.config.kafka_config import ConfigFileError, load_config

    overrides = [text for option, text in pairwise(others) if option == "--override"]
    try:
        _, warnings = load_config(os.path.abspath(properties), OsFileSystem(), overrides)
    except ConfigFileError as error:
        print(f"the broker cannot start: {error}", file=sys.stderr)
        return False
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return True


def main(words: Sequence[str]) -> int:
    """Run the broker.

    In the foreground this process becomes the broker, so that signals to this process reach the
    broker.
    """
    in_background = words[:1] == ["-daemon"]
    arguments = list(words[1:] if in_background else words)
    if not arguments or arguments[0].startswith("-"):
        print(USAGE, file=sys.stdout if "--help" in arguments else sys.stderr)
        return 0 if "--help" in arguments else 1
    properties, *others = arguments
    command = python_command(BROKER_MODULE, os.path.abspath(properties), *others)
    if not in_background:
        sys.stdout.flush()
        os.execve(command[0], command, python_environment())
    if not _starts(properties, others):
        return 1
    folder = log_dir()
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / OUTPUT, "ab") as output:
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=python_environment(),
        )
    return 0


server_start = ToolCommand("server-start", main, PURPOSE)
