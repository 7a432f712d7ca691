"""Ctrl-C ends the command line with one line and code 130, during any import."""

import os
import signal
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_edu.common.python_process import checkout, python_command, python_environment

SITE = """
import os, signal, sys

class Interrupter:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
        return None

if os.environ["INTERRUPT_AT"] == "sitecustomize":
    os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupter())
"""


def interrupted(
    tmp_path: Path, at: str, command: list[str], *arguments: str
) -> "subprocess.CompletedProcess[str]":
    """Run the command. SIGINT arrives when it imports `at`."""
    (tmp_path / "sitecustomize.py").write_text(SITE)
    environment = python_environment() | {"INTERRUPT_AT": at, "KAFKA_EDU_HOME": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), environment["PYTHONPATH"]])
    return subprocess.run(
        [*command, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def started_by_the_script() -> list[str]:
    root = checkout()
    assert root is not None
    assert '-S -P "$here/kafka_edu/__main__.py"' in (root / "kafka-edu").read_text(encoding="utf-8")
    return [python_command("-")[0], "-S", "-P", str(root / "kafka_edu" / "__main__.py")]


@pytest.mark.parametrize(
    "at", ["sitecustomize", "kafka_edu.cli.main", "click", "kafka_edu.cli.command_table", "tomllib"]
)
def test_while_the_program_starts(tmp_path: Path, at: str) -> None:
    done = interrupted(tmp_path, at, started_by_the_script(), "doctor")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped\n")


@pytest.mark.parametrize(
    ("at", "arguments"),
    [
        ("kafka_edu.tools.topics", ["topics", "--list", "--zookeeper", "127.0.0.1:1"]),
        ("kafka_edu.tools.zookeeper", ["topics", "--list", "--zookeeper", "127.0.0.1:1"]),
        ("kazoo.client", ["topics", "--list", "--zookeeper", "127.0.0.1:1"]),
        (
            "kafka_edu.clients.blocking.consumer",
            ["console-consumer", "--topic", "t", "--bootstrap-server", "127.0.0.1:1"],
        ),
        (
            "kafka_edu.clients.blocking.producer",
            ["console-producer", "--topic", "t", "--broker-list", "127.0.0.1:1"],
        ),
        ("chapters.ch10_replication.web_log", ["demo"]),
        ("confluent_kafka", ["demo"]),
        ("kafka_edu.supervisor.cluster", ["cluster", "up"]),
        ("rich.console", ["cluster", "up"]),
        ("tui.command", ["dashboard"]),
        ("textual.app", ["dashboard"]),
        ("chapters.command", ["chapter", "2"]),
        ("exercises.command", ["lab", "list"]),
        ("benchmarks.codecs", ["bench", "codecs"]),
        ("kafka_edu.cli.doctor", ["doctor"]),
    ],
)
def test_while_a_command_imports(tmp_path: Path, at: str, arguments: list[str]) -> None:
    done = interrupted(tmp_path, at, started_by_the_script(), *arguments)
    assert (done.returncode, done.stderr.strip()) == (130, "stopped")
    assert "Traceback" not in done.stdout


def test_as_a_module(tmp_path: Path) -> None:
    done = interrupted(tmp_path, "click", python_command("kafka_edu"), "doctor")
    assert (done.returncode, done.stderr) == (130, "stopped\n")


COMMAND = """
import click, signal, sys
from kafka_edu.cli import main
@click.command()
def command():
    BODY
main.build = lambda: command
sys.argv = ["kafka-edu"]
main.main()
"""


@pytest.mark.parametrize(
    "body",
    [
        "raise KeyboardInterrupt",
        "raise click.Abort",
        (
            "\n    try:\n        raise KeyboardInterrupt\n    except KeyboardInterrupt as stop:\n  "
            "      raise SystemError('with an exception set') from stop"
        ),
        (
            "\n    try:\n        raise KeyboardInterrupt\n    finally:\n        raise"
            " OSError('clean-up')"
        ),
        "import atexit; atexit.register(lambda: 1 / 0); raise KeyboardInterrupt",
        (
            "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start();"
            " raise KeyboardInterrupt"
        ),
        (
            "\n    class Removed:\n        def __del__(self):\n           "
            " signal.raise_signal(signal.SIGINT)\n    Removed()\n    signal.pause()"
        ),
    ],
    ids=[
        "interrupt",
        "abort",
        "wrapped",
        "replaced",
        "atexit",
        "a thread that goes on",
        "dropped by Python",
    ],
)
def test_whatever_becomes_of_the_interrupt(body: str) -> None:
    program = [*python_command("-")[:-2], "-c", COMMAND.replace("BODY", body)]
    done = subprocess.run(
        program, env=python_environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped\n")


def test_a_background_job_of_a_script_ignores_it(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SITE)
    environment = python_environment() | {"INTERRUPT_AT": "click"}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), environment["PYTHONPATH"]])
    done = subprocess.run(
        [*started_by_the_script(), "--version"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "words",
    [
        [
            "configs",
            "--zookeeper",
            "127.0.0.1:1",
            "--describe",
            "--entity-type",
            "topics",
            "--entity-name",
        ]
    ],
)
def test_an_argument_that_is_not_utf_8_is_said_in_words(words: list[str]) -> None:
    program = (
        "import sys\nfrom kafka_edu.cli import main\nimport"
        " click\n@click.command(context_settings={'ignore_unknown_options': True})\n"
    )
    program += (
        "@click.argument('words', nargs=-1)\ndef command(words): words[-1].encode()\nmain.build ="
        " lambda: command\nmain.main()\n"
    )
    command = [*python_command("-")[:-2], "-c", program, *words, b"a\xffb"]
    done = subprocess.run(
        command, env=python_environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (
        2,
        "Error: names in Kafka and ZooKeeper are UTF-8, and this argument is not UTF-8: a?b\n",
    )


FAREWELL = """
import atexit, os, signal, sys, threading, weakref
import click
from kafka_edu.cli import main

def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)

@click.command()
def command():
    click.echo("done")
    BODY

main.build = lambda: command
from kafka_edu.__main__ import main as run
run()
"""


class Ended(NamedTuple):
    """The end of a program."""

    code: int
    out: str
    err: str


def with_farewell(body: str) -> Ended:
    """Run the whole program in a new process, with a command whose last lines of Python are
    `body`.
    """
    program = [*python_command("-")[:-2], "-c", FAREWELL.replace("BODY", body)]
    done = subprocess.run(
        program, env=python_environment(), capture_output=True, text=True, timeout=60, check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "body",
    [
        "atexit.register(interrupt)",
        "threading.Thread(target=lambda: (threading.main_thread().join(), interrupt())).start()",
    ],
    ids=["in an atexit function", "while threads are waited for"],
)
def test_behind_the_end_of_the_command(body: str) -> None:
    assert with_farewell(body) == Ended(130, "done\n", "stopped\n")


def test_not_when_python_has_given_the_signal_back() -> None:
    """At its end, Python restores the system's handling of SIGINT, and then destroys its modules.
    The program ends the process before both, so a signal during the destruction changes nothing.
    """
    body = (
        "globals()['of_a_module'] = type('Last', (), {'__del__': lambda self, kill=os.kill,"
        " pid=os.getpid(): kill(pid, 2)})()"
    )
    assert with_farewell(body) == Ended(0, "done\n", "")


@pytest.mark.parametrize(
    ("body", "ended"),
    [
        ("pass", Ended(0, "done\n", "")),
        ("raise SystemExit(3)", Ended(3, "done\n", "")),
        ("raise SystemExit('so it is')", Ended(1, "done\n", "so it is\n")),
        ("atexit.register(print, 'and good-bye')", Ended(0, "done\nand good-bye\n", "")),
        (
            (
                "threading.Thread(target=lambda: (threading.main_thread().join(), print('a"
                " thread'))).start()"
            ),
            Ended(0, "done\na thread\n", ""),
        ),
    ],
)
def test_the_end_of_a_command_is_as_python_makes_it(body: str, ended: Ended) -> None:
    assert with_farewell(body) == ended


def test_an_error_that_nobody_handles_ends_with_1() -> None:
    ended = with_farewell("raise RuntimeError('a bug')")
    assert (ended.code, ended.out) == (1, "done\n")
    assert ended.err.endswith("RuntimeError: a bug\n")
