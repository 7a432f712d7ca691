"""Hostile submissions: they try to get points without work, or to do harm.

`python -m exercises.grading.attacks docs/grading.md` writes a table of the attacks into this page.
Each source is added before a learner's file that answers wrongly. In the sources, COURSE stands for
the folder of the course, OTHER for the path of another submission, and PORT for a port of this
machine.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple


class Attack(NamedTuple):
    """One attack, and the reason in the grade that stops it."""

    name: str
    wants: str
    source: str
    reason: str
    """A regular expression that the reason in the grade has to match."""
    stopped_by: str


#: The beginning of attacks that try to read a file. If an attack can read it, it exits with a text
#: that no grade may contain.
READ: Final = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def read(path):
    number = libc.open(path.encode(), 0)
    if number < 0:
        raise PermissionError(ctypes.get_errno(), "cannot be read", path)
    raise SystemExit(f"read {path}")
"""

ATTACKS: Final = (
    Attack(
        "forged_report",
        "a report of passed tests, in a file and on every open file descriptor",
        """
import json, os
report = json.dumps([{"test": "test_due", "says": "", "passed": True}]) + "\\n"
open("results.json", "w").write(report)
print("18 passed in 0.1s")
for number in range(3, 64):
    try:
        os.write(number, report.encode())
    except OSError:
        pass
""",
        "wrote something that is not an answer",
        "The judge is another process and writes the report. What comes through the pipe is an"
        " answer to a question, or no answer.",
    ),
    Attack(
        "forged_answers",
        "answers in advance",
        """
import os
for number in range(3, 64):
    try:
        os.write(number, b'{"loaded": "it"}\\n{"object": 0}\\n{"value": [1, 2, 0]}\\n')
    except OSError:
        pass
""",
        "wrote something that is not an answer",
        "A question has one line as its answer.",
    ),
    Attack(
        "forged_place",
        "an error at a place that makes the judge draw 2 GB of blanks",
        """
import os
for number in range(3, 64):
    try:
        os.write(number, b'{"error": "boo", "line": 1, "column": 2000000000}\\n')
    except OSError:
        pass
os._exit(0)
""",
        "boo",
        "A place that the file does not have is not drawn.",
    ),
    Attack(
        "patched_pytest",
        "a pytest in which all tests pass",
        """
import pytest
pytest.Function.runtest = lambda self: None
""",
        "No module named 'pytest'",
        "The learner's process has Python's own library only. pytest runs in another process.",
    ),
    Attack(
        "early_exit",
        "an end with status 0 before the tests",
        """
import os
os._exit(0)
""",
        r"ended the process \(exit code 0\)",
        "A process that is not there gives no answers.",
    ),
    Attack(
        "endless_loop",
        "to keep the grader busy without end",
        """
while True:
    pass
""",
        "did not come back within",
        "1 s of processor time and 5 s of doing nothing for a call, or 20 times what the reference"
        " solution used; 60 s of processor time in all.",
    ),
    Attack(
        "fork_bomb",
        "all processes of the machine, and some that stay behind",
        """
import ctypes, time
libc = ctypes.CDLL(None)
refused = 0
for _ in range(200):
    pid = libc.fork()
    if pid == 0:
        while True:
            time.sleep(60)
    refused += pid < 0
raise RuntimeError(f"{refused} of 200 forks were refused")
""",
        r"19\d of 200 forks were refused",
        "Four processes or threads (`RLIMIT_NPROC`). Their namespace ends with the grade, and the"
        " kernel kills them.",
    ),
    Attack(
        "memory",
        "10 GB of memory",
        """
hoard = bytearray(10 << 30)
""",
        "MemoryError: a learner's process may use 512 MB",
        "512 MB of address space (`RLIMIT_AS`).",
    ),
    Attack(
        "shared_memory",
        "memory that no limit counts and that stays when its process has gone",
        """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.shmget(0, 256 << 20, 0o1600) >= 0:
    raise SystemExit("hoarded")
raise OSError(ctypes.get_errno(), "no shared memory")
""",
        "no shared memory",
        "An IPC namespace in which System V's shared memory and messages are switched off.",
    ),
    Attack(
        "deleted_folders",
        "to delete everything",
        """
import ctypes, shutil
shutil.rmtree("/", ignore_errors=True)
libc = ctypes.CDLL(None, use_errno=True)
for path in ("COURSE/exercises/manifest.toml", "OTHER"):
    if libc.unlink(path.encode()) == 0:
        raise SystemExit("deleted")
""",
        "test_",
        "The file system is a new one that holds Python's library, read only, and a working folder"
        " of 16 MB. The wrong answers then cost the points.",
    ),
    Attack(
        "hidden_tests",
        "to read the hidden tests",
        READ + 'read("COURSE/exercises/ch02_timing_wheel/ex01_timing_wheel_add/hidden_tests.py")\n',
        "PermissionError.*cannot be read",
        "The course is not in that file system, and Landlock allows the library alone.",
    ),
    Attack(
        "solution",
        "to read the reference solution",
        READ + 'read("COURSE/exercises/solutions/ch02_timing_wheel/ex01_timing_wheel_add.py")\n',
        "PermissionError.*cannot be read",
        "The same.",
    ),
    Attack(
        "others_work",
        "to read another submission",
        READ + 'read("OTHER")\n',
        "PermissionError.*cannot be read",
        "The file system holds this submission only, and every submission has its own user.",
    ),
    Attack(
        "network",
        "to ask a friend, or this machine's services",
        """
import socket
reached = []
for address in (("127.0.0.1", PORT), ("1.1.1.1", 53)):
    try:
        socket.create_connection(address, timeout=2)
        reached.append(address)
    except OSError as error:
        last = error
if reached:
    raise SystemExit("reached")
raise last
""",
        "Network is unreachable",
        "A network namespace with a loopback of its own, and no other interface.",
    ),
    Attack(
        "output",
        "1 GB of prints",
        """
import sys
for _ in range(1024):
    sys.stdout.write("x" * (1 << 20))
    sys.stdout.flush()
""",
        "File too large",
        "4 MB for each file (`RLIMIT_FSIZE`), prints included; 64 KB for an answer.",
    ),
    Attack(
        "big_file",
        "to fill the disk",
        """
for number in range(100):
    with open(f"full{number}", "wb") as full:
        full.write(bytes(3 << 20))
""",
        "No space left on device",
        "The working folder is a file system of 16 MB in memory.",
    ),
    Attack(
        "sys_modules",
        "other modules under the judge's names",
        """
import sys, types, json
for name in list(sys.modules):
    if name.startswith(("kafka_edu", "exercises", "learner", "_pytest")):
        sys.modules[name] = types.ModuleType(name)
for name in ("kafka_edu", "exercises", "pytest", "exercises.runner.mismatch"):
    sys.modules[name] = types.ModuleType(name)
json.loads = lambda *_: {"made": True}
json.dumps = lambda *_, **__: '{"object": 0, "value": null, "passed": true}'
""",
        "test_|not an answer",
        "They are changed in the learner's own process, where nothing is judged.",
    ),
    Attack(
        "signals",
        "to kill the judge",
        """
import os, signal
try:
    os.kill(-1, signal.SIGKILL)
except ProcessLookupError:
    pass
os.kill(os.getppid(), signal.SIGKILL)
""",
        "Operation not permitted",
        "A process namespace: it contains no other processes, and its first process belongs to"
        " root.",
    ),
    Attack(
        "root",
        "to be root again",
        """
import os
os.setuid(0)
""",
        "Operation not permitted",
        "A user id of its own without rights, and `no_new_privs`.",
    ),
    Attack(
        "broken_text",
        "an answer that no file can hold",
        """
raise ValueError("\\ud800\\x00\\x1b[2J =cmd|' /C calc'!A0")
""",
        "ValueError: ",
        "What no file can hold is replaced; what a spreadsheet would run is quoted.",
    ),
)


ATTACK: Final = {one.name: one for one in ATTACKS}


def table(attacks: Sequence[Attack] = ATTACKS, what: str = "attack") -> str:
    """Return the attacks as a table in Markdown, for docs/grading.md."""
    rows = [
        f"| {what} | wants | stopped by |",
        "| --- | --- | --- |",
        *(f"| `{one.name}` | {one.wants} | {one.stopped_by} |" for one in attacks),
    ]
    return "\n".join(rows) + "\n"


def write_table(page: Path, attacks: Sequence[Attack] = ATTACKS, what: str = "attack") -> None:
    """Replace the table in the page by a table of the current attacks."""
    text = page.read_text(encoding="utf-8")
    old = rf"\| {what} \| wants \|.*\n(?:\|.*\n)*"
    new = re.sub(old, lambda _: table(attacks, what), text)
    page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    write_table(Path(sys.argv[1]))
