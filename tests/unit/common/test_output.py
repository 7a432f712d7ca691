"""What a command does when nobody reads its output. The commands run as processes with real
pipes.
"""

import os
import socket
import struct
import subprocess
from pathlib import Path

import pytest

from kafka_edu.common.python_process import python_command, python_environment

PROGRAM = """
import sys
from kafka_edu.common.output import OutputClosed, end_when_output_closes, flush_output
end_when_output_closes()
"""


def run(
    program: str, *, closed: str = "stdout", environment: dict[str, str] | None = None
) -> tuple[int, str]:
    """Run the program with one stream on a pipe whose reader has gone. Return the exit code and the
    text of the other stream.
    """
    reader, writer = os.pipe()
    os.close(reader)
    other = "stderr" if closed == "stdout" else "stdout"
    command = [*python_command("-")[:-2], "-c", PROGRAM + program]
    try:
        streams = {closed: writer, other: subprocess.PIPE}
        done = subprocess.run(
            command,
            env=python_environment() | (environment or {}),
            text=True,
            timeout=60,
            check=False,
            **streams,
        )  # type: ignore[call-overload]
    finally:
        os.close(writer)
    return done.returncode, str(getattr(done, other))


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_write_ends_the_program_and_clean_up_may_write_again(unbuffered: str) -> None:
    program = """
try:
    print("x" * 100_000, flush=True)
finally:
    print("clean-up")
    print("done", file=sys.stderr)
"""
    assert run(program, environment={"PYTHONUNBUFFERED": unbuffered}) == (141, "done\n")


def test_what_was_buffered_ends_it_too() -> None:
    assert run("print('x'); flush_output()", environment={"PYTHONUNBUFFERED": ""}) == (141, "")


def test_the_interpreter_says_nothing_at_its_end() -> None:
    program = """
try:
    print("x", flush=True)
except OutputClosed:
    print("y")
    sys.exit(3)
"""
    assert run(program) == (3, "")


def test_errors_that_nobody_reads() -> None:
    assert run("print('x', file=sys.stderr, flush=True)", closed="stderr") == (141, "")


def test_it_is_not_taken_for_a_broken_connection() -> None:
    assert run("try:\n    print('x', flush=True)\nexcept OSError:\n    sys.exit(3)") == (141, "")


def test_a_connection_that_its_reader_resets() -> None:
    program = "sys.stdin.read(); print('x', flush=True)"
    command = [*python_command("-")[:-2], "-c", PROGRAM + program]
    with socket.create_server(("127.0.0.1", 0)) as server:
        theirs = socket.create_connection(server.getsockname())
        ours, _ = server.accept()
    with subprocess.Popen(
        command, env=python_environment(), stdin=-1, stdout=theirs, stderr=-1
    ) as process:
        theirs.close()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        ours.close()
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_ends_it_with_a_message() -> None:
    program = "try:\n    print('x', flush=True)\nfinally:\n    print('clean-up')"
    command = [*python_command("-")[:-2], "-c", PROGRAM + program]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command, env=python_environment(), stdout=full, stderr=-1, timeout=60, check=False
        )
    assert (done.returncode, done.stderr.decode()) == (
        1,
        "Error: the output cannot be written: No space left on device. It is not complete.\n",
    )


def test_another_thread_writes_into_nothing() -> None:
    program = """
import threading
thread = threading.Thread(target=lambda: print("x", flush=True))
thread.start()
thread.join()
"""
    assert run(program) == (0, "")


def test_a_stream_that_is_not_there_stays_away() -> None:
    program = (
        "import sys\nsys.stdout = None" + PROGRAM + "assert sys.stdout is None; flush_output()"
    )
    assert run(program) == (0, "")


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("utf-8", "♛\udcff".encode("utf-8", "surrogateescape")), ("ascii", b"??")],
)
def test_what_a_terminal_cannot_show_is_no_error(encoding: str, shown: bytes) -> None:
    command = [*python_command("-")[:-2], "-c", PROGRAM + "sys.stdout.write('\\u265b\\udcff')"]
    done = subprocess.run(
        command,
        env=python_environment() | {"PYTHONIOENCODING": encoding},
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == shown
