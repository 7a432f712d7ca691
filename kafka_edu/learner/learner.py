"""Call a learner's code, which runs in a separate process (`learner_process`).

Numbers and bytes go to that process, and an answer comes back as JSON. This process, the judge,
checks the answer. The learner's code has no reference to any object of the judge. It can give wrong
answers, but it cannot replace the code that checks them, and it cannot forge an event (spec E1).

Each answer must come within an allowance of processor time and of idle time. Time in which other
programs keep the machine busy does not count, because it is not the learner's fault
(`kafka_edu.common.busy_machine`).
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
"""The limits of one call, for all exercises whose reference solution does not need more."""
LOADING: Final = Allowance(idle_s=20.0, clock_s=20.0)
"""The limits for loading the learner's file. They leave time for a slow disk."""
GRACE_S: Final = 1.0
"""The processor time (s) that the judge allows in addition to the learner's process's own limit.

The learner's process itself stops most endless loops, and then it can report the line. The judge
stops code that catches every exception, or that stays in the kernel or in C.
"""
NAMESPACES: Final = "namespaces"
"""The kind of jail that has only the learner's file and Python's library in its file system."""
NO_JAIL: Final = 97
"""The exit code of `learner_jail` if the jail could not be built.

The learner's process cannot end with this code.
"""
MAX_ANSWER_BYTES: Final = 64 * 1024
SHOWN_BYTES: Final = 12
"""The number of bytes of an argument that a message shows."""
#: The only environment variables that the learner's process gets.
#:
#: It does not need the judge's settings.
KEPT_VARIABLES: Final = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR")


class LearnerFailure(Exception):
    """The learner's code raised an exception, did not return, ended its process, or gave an invalid
    answer.

    A `line` or `column` of 0 means unknown. Columns count from 1.
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
        changed: bool = False,
    ) -> None:
        where = f" ({file.name}, line {line})" if line else ""
        super().__init__(f"{asked}: {message}{where}")
        self.asked = asked
        self.message = message
        self.line = line
        self.column = column
        self.timed_out = timed_out
        """Whether the call exceeded its time. The same code should then not be called again."""
        self.changed = changed
        """Whether the call has changed its process in a way that later calls would notice."""
        self.loaded = True
        """Whether the file had been loaded before the failure.

        A file that cannot be loaded has no answers.
        """


class JailError(Exception):
    """The jail could not be built. The learner's code is not the reason."""


class Jail(NamedTuple):
    """How to jail a process whose code is not trusted (see `learner_jail`)."""

    uid: int
    """A user id that no other process uses."""
    kind: str
    """The kind of jail: `namespaces` or `user`."""
    processor_s: int = 20
    """The limit of processor time (s) for all calls together."""

    @classmethod
    def parse(cls, text: str) -> "Jail | None":
        """Return the jail that `str(jail)` has written as `text`. Return None for an empty text."""
        if not text:
            return None
        uid, kind, processor_s = text.split()
        return cls(int(uid), kind, int(processor_s))

    def __str__(self) -> str:
        return f"{self.uid} {self.kind} {self.processor_s}"


class Used(NamedTuple):
    """The time that calls took, in seconds.

    The processor time is the number that the learner's process reports. Only a reference solution
    is measured with it, and a reference solution has no reason to report a false number.
    """

    processor_s: float = 0.0
    """The processor time (s) of the most expensive call."""
    clock_s: float = 0.0
    """The clock time (s) of the longest call."""


class LearnerObject:
    """An object of a class that a learner wrote. The object is in the learner's process."""

    def __init__(self, learner: "Learner", process: object, number: int) -> None:
        self._learner = learner
        self._process = process
        self._number = number

    def __del__(self) -> None:
        """Let the learner's process drop its object, because this object is no longer used.

        A broker makes one object for each waiting request.
        """
        self._learner.forget(self._process, self._number)

    def call(self, method: str, *arguments: object) -> object:
        """Call a method and return its answer, with tuples instead of lists.

        Raises LearnerFailure.
        """
        question = {"object": self._number, "call": method, "arguments": arguments}
        shown = shown_call(method, arguments)
        return self._learner.ask(self._process, question, shown).get("value")

    def call_all(self, calls: Sequence[tuple[str, Sequence[object]]]) -> object:
        """Call several methods within the limits of one call. Return the answer of the last method.

        Raises LearnerFailure.
        """
        question = {"object": self._number, "calls": calls}
        shown = f"{len(calls):,} calls of {', '.join(sorted({method for method, _ in calls}))}"
        return self._learner.ask(self._process, question, shown).get("value")


def folder_for_everybody() -> Path | None:
    """Return a folder for temporary files that every user may enter. None means the usual folder.

    TMPDIR may be inside a folder of root, which the user of a jail cannot enter.
    """
    for base in (Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")):
        with suppress(OSError):
            if all(folder.stat().st_mode & stat.S_IXOTH for folder in (base, *base.parents)):
                return base
    return None


class Learner:
    """Runs a learner's file in a process.

    If the process was ended, the next `make` starts a new process.

    The process works in a separate folder, which is removed when the process ends. The process can
    read only that folder, the learner's file and Python's library (`learner_wall`).
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
        hash_seed: int | None = None,
    ) -> None:
        """Prepare to run the object `wanted` from the file. The process starts at the first call.

        `allowance` is the limit of each call. `usage_of` replaces the system's way to measure a
        process's time.

        With `prints`, the learner's output goes to standard error, or to the file `output` if one
        is given. Without `prints` it is discarded. `breakpoint()` opens a debugger on `terminal`.
        With a `jail`, which needs root, all methods may raise JailError.

        `hash_seed` is the seed of Python's hashes of texts, which decide the order of a set. If it
        is None, each process has a different seed.
        """
        self._file = file
        self._wanted = wanted
        self._allowance = allowance
        self._usage_of = usage_of
        self._stderr = output or (None if prints else subprocess.DEVNULL)
        self._terminal = terminal
        self._jail = jail
        self._hash_seed = hash_seed
        self.answered_at = 0
        """The line of the learner's file that returned the last answer; 0 if it is not known."""
        self.used = Used()
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: WorkingFolder | None = None
        self._gone: list[int] = []
        """The numbers of objects that are no longer used. The next question sends these numbers."""

    def start(self) -> object:
        """Return the process with the file loaded. Start it if necessary. Raises LearnerFailure."""
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
        """Return the command line that starts the learner's process."""
        program = Path(__file__).with_name("learner_process.py")
        jail = [str(program.with_name("learner_jail.py")), *str(self._jail).split()]
        return [
            sys.executable,
            # -I would ignore PYTHONHASHSEED. The environment has no other variable of Python's.
            *(["-I"] if self._hash_seed is None else ["-s", "-P"]),
            "-S",
            *(jail if self._jail is not None else []),
            str(program),
            str(self._file.absolute()),
            self._wanted,
            str(self._allowance.processor_s),
            *filter(None, [self._terminal]),
        ]

    def _environment(self) -> dict[str, str]:
        """Return the environment variables for the learner's process."""
        kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
        return kept if self._hash_seed is None else kept | {"PYTHONHASHSEED": f"{self._hash_seed}"}

    def with_hash_seed(self, hash_seed: int) -> "Learner":
        """Return a second process for the same file, with this seed of Python's hashes of texts."""
        return Learner(
            self._file,
            self._wanted,
            allowance=self._allowance,
            usage_of=self._usage_of,
            jail=self._jail,
            hash_seed=hash_seed,
        )

    def make(self, *arguments: object) -> LearnerObject:
        """Make an object of the learner's class and return it. Raises LearnerFailure."""
        process = self.start()
        shown = shown_call(self._wanted, arguments)
        number = self.ask(process, {"make": arguments}, shown).get("object")
        if not isinstance(number, int):
            raise self._no_answer(shown)
        return LearnerObject(self, process, number)

    def run(self, *arguments: object) -> object:
        """Call the learner's function and return its answer, with tuples instead of lists.

        Raises LearnerFailure.
        """
        process = self.start()
        shown = shown_call(self._wanted, arguments)
        return self.ask(process, {"run": arguments}, shown).get("value")

    def made(self) -> int:
        """Return the number of objects of the wanted class made so far.

        Objects that `make` made and objects that the learner's code made both count.

        Raises LearnerFailure.
        """
        process = self.start()
        number = self.ask(process, {"made": True}, "counting objects").get("value")
        if not isinstance(number, int):
            raise self._no_answer("counting objects")
        return number

    def forget(self, process: object, number: int) -> None:
        """Record that an object of this process is no longer used. O(1)."""
        if process is self._process:
            self._gone.append(number)

    def ask(self, process: object, question: dict[str, object], shown: str) -> dict[str, object]:
        """Send a question to the process, and return its answer. Raises LearnerFailure."""
        current = self._process
        if current is None or process is not current:
            raise LearnerFailure(
                shown, "is not called any more, because its process was ended", self._file
            )
        assert current.stdin is not None
        if self._gone:
            question["gone"], self._gone = self._gone, []
        with suppress(BrokenPipeError):  # the process has ended: the answer will say so
            current.stdin.write(json.dumps(question, default=document_of).encode() + b"\n")
            current.stdin.flush()
        return self._answer(current, self._allowance, shown)

    def close(self) -> None:
        """End the process and all processes that it started."""
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
        """Read one line of answer within the allowance. Raises LearnerFailure.

        A process that hangs, has ended, or gives an invalid answer is ended.
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
                # The process's time is measured only if no answer came within `look_every_s`. Most
                # answers come earlier.
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
        return self._read_answer(line, shown, time.monotonic() - began)

    def _read_answer(self, line: bytes, shown: str, clock_s: float) -> dict[str, object]:
        """Return the content of an answer that took `clock_s` to come. Raises LearnerFailure."""
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
                changed=document.get("changed") is True,
            )
        self.answered_at = _number(document.get("line"))
        said_s = document.get("used_s")
        self.used = Used(
            max(self.used.processor_s, said_s if isinstance(said_s, float) else 0.0),
            max(self.used.clock_s, clock_s),
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
    """Return, in brackets, how a process ended. Return "" if `close` killed the process."""
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
    """Return a JSON value without characters that cannot be written: halves of surrogate pairs."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list():
            return [_sayable(one) for one in value]
        case dict():
            return {str(_sayable(key)): _sayable(one) for key, one in value.items()}
    return value


def shown_call(function: str, arguments: tuple[object, ...]) -> str:
    """Return a call as text. Of bytes only the first ones are shown."""
    return f"{function}({', '.join(map(_shown_argument, arguments))})"


def _shown_argument(argument: object) -> str:
    if isinstance(argument, bytes):
        rest = f" … {len(argument)} bytes" if len(argument) > SHOWN_BYTES else ""
        return f"<{argument[:SHOWN_BYTES].hex(' ')}{rest}>"
    return str(list(argument) if isinstance(argument, tuple) else argument)


def document_of(value: object) -> dict[str, str]:
    """Return the JSON object that stands for bytes. Raises TypeError if the value is not bytes."""
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    raise TypeError(f"{type(value).__name__} cannot be sent to a learner's code")


def _tuples(value: object) -> object:
    """Return a JSON value with tuples for lists, and with bytes for the JSON form of bytes."""
    if isinstance(value, list):
        return tuple(_tuples(one) for one in value)
    if isinstance(value, dict) and value.keys() == {"bytes"} and isinstance(value["bytes"], str):
        with suppress(ValueError):  # a dictionary of the learner that has a different form
            return bytes.fromhex(value["bytes"])
    return value
