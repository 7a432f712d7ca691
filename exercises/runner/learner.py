"""The judge's side of learner's code: questions go into the learner's process, answers come out, each within a time limit."""

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

LOAD_LIMIT_S: Final = 20.0
CALL_LIMIT_S: Final = 3.0


class LearnerFailure(AssertionError):
    """Learner's code raised, did not come back, or ended its process. An AssertionError, so that a test that asks it fails by it."""


class LearnerObject:
    """An object of the learner's class."""

    def __init__(self, learner: "Learner", number: int) -> None:
        self._learner = learner
        self._number = number

    def call(self, method: str, *arguments: int) -> object:
        """What the method answers, tuples for lists. Raises LearnerFailure."""
        shown = f"{method}({', '.join(map(str, arguments))})"
        return self._learner.ask({"object": self._number, "call": method, "arguments": arguments}, shown)["value"]


class Learner:
    """A process that runs the learner's file; made anew after it hung."""

    def __init__(self, file: Path, wanted: str, call_limit_s: float = CALL_LIMIT_S) -> None:
        self._file = file
        self._wanted = wanted
        self._call_limit_s = call_limit_s
        self._process: subprocess.Popen[bytes] | None = None

    def make(self, *arguments: int) -> LearnerObject:
        """An object of the learner's class. Raises LearnerFailure."""
        shown = f"{self._wanted}({', '.join(map(str, arguments))})"
        number = self.ask({"make": arguments}, shown)["object"]
        assert isinstance(number, int)
        return LearnerObject(self, number)

    def ask(self, question: dict[str, object], shown: str) -> dict[str, object]:
        process = self._running()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended: the answer says so
        answer = self._answer(process, self._call_limit_s, shown)
        if "error" in answer:
            raise LearnerFailure(self._blame(shown, answer))
        return answer

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _blame(self, shown: str, answer: dict[str, object]) -> str:
        where = f" ({self._file.name}, line {answer['line']})" if answer.get("line") else ""
        return f"{shown}: {answer['error']}{where}"

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            program = Path(__file__).with_name("learner_process.py")
            self._process = subprocess.Popen(
                [sys.executable, "-I", str(program), str(self._file), self._wanted],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            loaded = self._answer(self._process, LOAD_LIMIT_S, f"loading {self._file.name}")
            if "error" in loaded:
                self.close()
                raise LearnerFailure(self._blame(f"loading {self._file.name}", loaded))
        return self._process

    def _answer(self, process: "subprocess.Popen[bytes]", limit_s: float, shown: str) -> dict[str, object]:
        """One line, within the limit. A process that hangs is killed; the next question starts another."""
        assert process.stdout is not None
        end = time.monotonic() + limit_s
        line = b""
        while not line.endswith(b"\n"):
            readable, _, _ = select.select([process.stdout], [], [], max(end - time.monotonic(), 0))
            if not readable:
                self.close()
                raise LearnerFailure(f"{shown} did not come back within {limit_s:g} s: is there a loop that never ends?")
            read = os.read(process.stdout.fileno(), 65536)
            if not read:
                code = process.wait()
                self.close()
                raise LearnerFailure(f"{shown} ended the process (exit code {code})")
            line += read
        document = json.loads(line)
        return {key: _tuples(value) for key, value in document.items()}


def _tuples(value: object) -> object:
    return tuple(_tuples(one) for one in value) if isinstance(value, list) else value
