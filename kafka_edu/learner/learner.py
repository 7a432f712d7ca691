"""Ask a learner's code, which runs in a process of its own (`learner_process`).

Numbers and bytes go in, and an answer comes out as JSON. The asking process is the judge. The
learner's code has no reference to anything in it. It can give wrong answers, but it cannot replace
the code that checks them, and it cannot forge an event (spec E1).

Each answer must come within an allowance of processor time and of idle time, so a busy machine is
no fault of the learner (`kafka_edu.common.busy_machine`).
"""

import json
import os
import select
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, NamedTuple

from kafka_edu.common.busy_machine import LOOK_EVERY_S, Allowance, Meter, Usage, overdrawn
from kafka_edu.learner.working_folder import WorkingFolder

CALL: Final = Allowance()
"""The limits of one call, unless the reference solution is known to need more."""
LOADING: Final = Allowance(idle_s=20.0, clock_s=20.0)
"""The limits of loading the file. A disk may have to be waited for."""
GRACE_S: Final = 1.0
"""The processor time that the judge allows on top of what the learner's process allows itself.
That process stops most loops, and it knows the line. The judge stops what catches every exception,
or stays in the kernel or in C.
"""
NAMESPACES: Final = "namespaces"
"""The kind of jail that needs nothing outside but the learner's file."""
NO_JAIL: Final = 97
"""The exit code of `learner_jail` where there is no jail. Its inmate cannot cause it."""
MAX_ANSWER_BYTES: Final = 64 * 1024
SHOWN_BYTES: Final = 12
"""How many bytes of an argument a message shows."""
#: The only environment variables that the learner's process gets. It does not need the judge's
#: settings.
KEPT_VARIABLES: Final = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR")


class LearnerFailure(Exception):
    """The learner's code raised, did not return, ended its process, or gave an invalid answer.

    `line` 0 means unknown. So does `column` 0; columns count from 1.
    """

    def __init__(
        self,
        asked: str,
        message: str,
        file: Path,
        line: int = 0,
        *,
        column: int = 0,
        timed_out: bool = False,
    ) -> None:
        where = f" ({file.name}, line {line})" if line else ""
        super().__init__(f"{asked}: {message}{where}")
        self.asked = asked
        self.message = message
        self.line = line
        self.column = column
        self.timed_out = timed_out
        """Whether it did not come back. Nobody should wait for the same code again."""
        self.loaded = True
        """Whether it was loaded before. What cannot be loaded cannot be asked again."""


class JailError(Exception):
    """The jail could not be built, which says nothing about the learner's code."""


class Jail(NamedTuple):
    """The wall around a process that nobody trusts: see `learner_jail`."""

    uid: int
    """A user id that nobody else uses."""
    kind: str
    """`namespaces` or `user`."""
    processor_s: int = 20
    """The processor time of all calls together."""

    @classmethod
    def parse(cls, text: str) -> "Jail | None":
        """Return the jail that `str` wrote; None for an empty text."""
        if not text:
            return None
        uid, kind, processor_s = text.split()
        return cls(int(uid), kind, int(processor_s))

    def __str__(self) -> str:
        return f"{self.uid} {self.kind} {self.processor_s}"


class Used(NamedTuple):
    """The time that calls took, in s; the processor time is what the learner's process says.

    That is for a reference solution, which has no reason to lie.
    """

    processor_s: float = 0.0
    """Of the most expensive call."""
    clock_s: float = 0.0
    """Of the longest call."""


class LearnerObject:
    """An object of the learner's class, in the process that made it."""

    def __init__(self, learner: "Learner", process: "subprocess.Popen[bytes]", number: int) -> None:
        self._learner = learner
        self._process = process
        self._number = number

    def __del__(self) -> None:
        """Let its process forget it. A live broker makes an object for each request that waits."""
        self._learner.forget(self._process, self._number)

    def call(self, method: str, *arguments: object) -> object:
        """Call a method and return its answer, with tuples in place of lists. Raises
        LearnerFailure.
        """
        question = {"object": self._number, "call": method, "arguments": arguments}
        return self._learner.ask(self._process, question, _shown(method, arguments)).get("value")

    def call_all(self, calls: Sequence[tuple[str, Sequence[object]]]) -> object:
        """Make many calls, within the limits of one, and return the answer of the last. Raises
        LearnerFailure.
        """
        question = {"object": self._number, "calls": calls}
        shown = f"{len(calls):,} calls of {', '.join(sorted({method for method, _ in calls}))}"
        return self._learner.ask(self._process, question, shown).get("value")


def folder_for_everybody() -> Path | None:
    """Return a folder of temporary files that every user may enter, or None for the usual one.

    TMPDIR may lie in a folder of root's own, which a jail's user cannot enter.
    """
    for base in (Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")):
        with suppress(OSError):
            if all(folder.stat().st_mode & stat.S_IXOTH for folder in (base, *base.parents)):
                return base
    return None


class Learner:
    """Runs a learner's file in a process. If that process was ended, the next `make` starts
    another.

    The process works in a folder of its own, which is removed with it. It can read that folder, the
    learner's file and Python's library, and nothing else (`learner_wall`).
    """

    max_answer_bytes = MAX_ANSWER_BYTES

    def __init__(
        self,
        file: Path,
        wanted: str,
        *,
        allowance: Allowance = CALL,
        usage_of: Callable[[int], Usage] | None = None,
        prints: bool = False,
        output: IO[bytes] | None = None,
        terminal: str = "",
        jail: Jail | None = None,
    ) -> None:
        """`allowance` is for each call. `usage_of` measures a process in another way than the
        system does.

        With `prints`, the learner's output goes to standard error, or to the file `output` if
        there is one; otherwise it is discarded. `terminal` is where `breakpoint()` stops. With a
        `jail`, which needs root, all methods may raise JailError.
        """
        self._file = file
        self._wanted = wanted
        self._allowance = allowance
        self._usage_of = usage_of
        self._stderr = output or (None if prints else subprocess.DEVNULL)
        self._terminal = terminal
        self._jail = jail
        self.answered_at = 0
        """The line of the learner's file that returned the last answer; 0 means unknown."""
        self.used = Used()
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: WorkingFolder | None = None
        self._gone: list[int] = []
        """Objects of this process that nobody asks any more. The next question says so."""

    def start(self) -> "subprocess.Popen[bytes]":
        """Return the process, started if necessary, with the file loaded. Raises LearnerFailure."""
        if self._process is None:
            base = None if self._jail is None else folder_for_everybody()
            self._folder = WorkingFolder(base or Path(tempfile.gettempdir()))
            process = self._process = subprocess.Popen(
                self._command(),
                cwd=self._folder.path,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                env=self._environment(),
                start_new_session=True,
            )
            try:
                processor_s = max(LOADING.processor_s, self._allowance.processor_s)
                loading = LOADING._replace(processor_s=processor_s)
                self._answer(process, loading, f"loading {self._file.name}")
            except (LearnerFailure, JailError) as failure:
                self.close()
                if isinstance(failure, LearnerFailure):
                    failure.loaded = False
                raise
        return self._process

    def _command(self) -> list[str]:
        """Return the command of the learner's process."""
        program = Path(__file__).with_name("learner_process.py")
        jail = [str(program.with_name("learner_jail.py")), *str(self._jail).split()]
        return [
            sys.executable,
            "-I",
            "-S",
            *(jail if self._jail is not None else []),
            str(program),
            str(self._file.absolute()),
            self._wanted,
            str(self._allowance.processor_s),
            *filter(None, [self._terminal]),
        ]

    def _environment(self) -> dict[str, str]:
        """Return the environment of the learner's process."""
        return {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}

    def make(self, *arguments: object) -> LearnerObject:
        """Return an object of the learner's class. Raises LearnerFailure."""
        process = self.start()
        shown = _shown(self._wanted, arguments)
        number = self.ask(process, {"make": arguments}, shown).get("object")
        if not isinstance(number, int):
            raise self._no_answer(shown)
        return LearnerObject(self, process, number)

    def run(self, *arguments: object) -> object:
        """Call the learner's function, which is what the file is wanted for, and return its answer,
        with tuples in place of lists. Raises LearnerFailure.
        """
        process = self.start()
        return self.ask(process, {"run": arguments}, _shown(self._wanted, arguments)).get("value")

    def made(self) -> int:
        """Return how many objects of its class the learner's code has made, those that `make` asked
        for included. Raises LearnerFailure.
        """
        process = self.start()
        number = self.ask(process, {"made": True}, "counting objects").get("value")
        if not isinstance(number, int):
            raise self._no_answer("counting objects")
        return number

    def forget(self, process: "subprocess.Popen[bytes]", number: int) -> None:
        """An object is not asked any more. O(1)."""
        if process is self._process:
            self._gone.append(number)

    def ask(
        self, process: "subprocess.Popen[bytes]", question: dict[str, object], shown: str
    ) -> dict[str, object]:
        """Return the answer of that process. Raises LearnerFailure."""
        if process is not self._process:
            raise LearnerFailure(
                shown, "is not called any more, because its process was ended", self._file
            )
        assert process.stdin is not None
        if self._gone:
            question["gone"], self._gone = self._gone, []
        with suppress(BrokenPipeError):  # the process has ended: the answer will say so
            process.stdin.write(json.dumps(question, default=_document_of).encode() + b"\n")
            process.stdin.flush()
        return self._answer(process, self._allowance, shown)

    def close(self) -> None:
        """End the process and everything that it started."""
        process, self._process = self._process, None
        folder, self._folder = self._folder, None
        self._gone = []
        if process is not None:
            with suppress(
                ProcessLookupError, PermissionError
            ):  # macOS refuses if only a zombie is left in the group
                os.killpg(
                    process.pid, signal.SIGKILL
                )  # before it is reaped, because until then no other process can get its number
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(BrokenPipeError):
                    if pipe is not None:
                        pipe.close()
        if folder is not None:
            folder.remove()

    def _answer(
        self, process: "subprocess.Popen[bytes]", allowance: Allowance, shown: str
    ) -> dict[str, object]:
        """Read one line within the allowance. End a process that hangs, has ended, or gives an
        invalid answer.
        """
        assert process.stdout is not None
        self.answered_at = 0
        poll = select.poll()
        poll.register(process.stdout, select.POLLIN)
        began = time.monotonic()
        look_every_s = min(LOOK_EVERY_S, allowance.idle_s / 2, allowance.clock_s / 2)
        judges = allowance._replace(processor_s=allowance.processor_s + GRACE_S)
        meter: Meter | None = None
        line = b""
        stopped = False
        while not line.endswith(b"\n"):
            if not poll.poll(None if stopped else look_every_s * 1000):
                # Most answers come before anybody looks, so they cost no measuring.
                meter = meter or Meter(process.pid, self._usage_of)
                if why := overdrawn(meter.look(), judges):
                    self.close()
                    raise LearnerFailure(
                        shown, f"did not come back {why}", self._file, timed_out=True
                    )
                continue
            read = os.read(process.stdout.fileno(), 65536)
            if not read:
                self.close()
                if self._jail is not None and process.returncode == NO_JAIL:
                    raise JailError("the jail for the learner's code could not be built")
                raise LearnerFailure(
                    shown, f"ended the process{_how_it_ended(process.returncode)}", self._file
                )
            line += read
            if self._terminal and b"\n" in line and line.startswith(b'{"breakpoint": '):
                stopped, line = True, line.partition(b"\n")[2]
            if len(line) > self.max_answer_bytes:
                raise self._no_answer(shown)
        try:
            document = json.loads(line)
            if b"\\ud" in line.lower():
                document = _sayable(document)
            if not isinstance(document, dict):
                raise ValueError("an answer is an object")
            answer = {key: _tuples(value) for key, value in document.items()}
        except (ValueError, RecursionError):
            raise self._no_answer(shown) from None
        if "error" in document:
            raise LearnerFailure(
                shown,
                str(document["error"]),
                self._file,
                _number(document.get("line")),
                column=_number(document.get("column")),
                timed_out=document.get("timed_out") is True,
            )
        self.answered_at = _number(document.get("line"))
        said_s = document.get("used_s")
        self.used = Used(
            max(self.used.processor_s, said_s if isinstance(said_s, float) else 0.0),
            max(self.used.clock_s, time.monotonic() - began),
        )
        return answer

    def _no_answer(self, shown: str) -> LearnerFailure:
        self.close()
        return LearnerFailure(
            shown,
            "wrote something that is not an answer, so its process was ended",
            self._file,
        )


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _how_it_ended(code: int) -> str:
    """Return how a process ended, in brackets; empty if it was `close` that killed it."""
    if code == -signal.SIGKILL:
        return ""
    number = -code if code < 0 else code - 128
    if number == signal.SIGXCPU:
        return " (it had used all the processor time that it may use)"
    try:
        return f" (signal {signal.Signals(number).name})"
    except ValueError:
        return f" (exit code {code})"


def _sayable(value: object) -> object:
    """Return a value of JSON without what no file or terminal could take: halves of surrogate
    pairs.
    """
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list():
            return [_sayable(one) for one in value]
        case dict():
            return {str(_sayable(key)): _sayable(one) for key, one in value.items()}
    return value


def _shown(function: str, arguments: tuple[object, ...]) -> str:
    return f"{function}({', '.join(map(_shown_argument, arguments))})"


def _shown_argument(argument: object) -> str:
    if isinstance(argument, bytes):
        rest = f" … {len(argument)} bytes" if len(argument) > SHOWN_BYTES else ""
        return f"<{argument[:SHOWN_BYTES].hex(' ')}{rest}>"
    return str(list(argument) if isinstance(argument, tuple) else argument)


def _document_of(value: object) -> dict[str, str]:
    """Return what stands for bytes in JSON. Raises TypeError for anything else."""
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    raise TypeError(f"{type(value).__name__} cannot be sent to a learner's code")


def _tuples(value: object) -> object:
    """Return the value with tuples in place of lists, and with the bytes that it stands for."""
    if isinstance(value, list):
        return tuple(_tuples(one) for one in value)
    if isinstance(value, dict) and value.keys() == {"bytes"} and isinstance(value["bytes"], str):
        with suppress(ValueError):  # a dict of the learner's that only looks like it
            return bytes.fromhex(value["bytes"])
    return value
