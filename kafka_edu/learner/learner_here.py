"""Call a learner's code in the process of the caller. This is for a web page, which cannot start a
process.

The questions and answers have the same JSON form as those of `learner_process`. So tests get the
same values and the same messages as there. There is no wall: the learner's code could change the
code that judges it. So this module is for practice only, and never for a grade. There is no limit
of time either. The page ends the whole worker if a test does not end (page/web/exercise.js).
"""

import builtins
import io
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from types import ModuleType
from typing import Any, Final

from kafka_edu.learner import learner_process
from kafka_edu.learner.learner import Learner, LearnerFailure, document_of

HERE: Final = "here"
"""The engine of tests that run the learner's code in their own process."""


class _Loaded:
    """The result of executing the learner's file, and the objects that were made of the learner's
    class.
    """

    def __init__(self, wanted: Any) -> None:
        self.wanted = wanted
        self.objects: dict[int, Any] = {}
        self.counted: Counter[str] = learner_process.count_objects(wanted)


class LearnerHere(Learner):
    """Runs a learner's file in this process."""

    _loaded: _Loaded | None = None
    _prints: io.TextIOWrapper | None = None
    """The sys.stdout of the learner's code, from the first call until `close`."""

    def start(self) -> object:
        """Load the file if necessary. Raises LearnerFailure."""
        if self._loaded is None:
            shown = f"loading {self._file.name}"
            try:
                with self._outside():
                    self._loaded = _Loaded(learner_process.load(str(self._file), self._wanted))
            except BaseException as error:  # the learner's file raised it
                try:
                    self._fail(error, shown)
                except LearnerFailure as failure:
                    failure.loaded = False
                    raise
        return self._loaded

    def ask(self, process: object, question: dict[str, object], shown: str) -> dict[str, object]:
        loaded = self._loaded
        if loaded is None or process is not loaded:
            raise LearnerFailure(
                shown, "is not called any more, because its process was ended", self._file
            )
        for number in self._gone:
            loaded.objects.pop(number, None)
        self._gone.clear()
        text = json.dumps(question, default=document_of)
        asked: dict[str, Any] = json.loads(text, object_hook=learner_process.bytes_of)
        wanted, objects, self.answered_at = loaded.wanted, loaded.objects, 0
        began_s = time.monotonic()
        try:
            with self._outside():
                file = str(self._file)
                said = learner_process.answer(asked, file, wanted, objects, loaded.counted)
        except BaseException as error:  # the learner's file raised it
            self._fail(error, shown, learner_process.line_of_call(asked, wanted, objects))
        line = json.dumps(said, default=learner_process.document_of).encode()
        if len(line) > self.max_answer_bytes:
            raise self._no_answer(shown)
        return self._read_answer(line, shown, time.monotonic() - began_s)

    def forget(self, process: object, number: int) -> None:
        if process is self._loaded:
            self._gone.append(number)

    def close(self) -> None:
        self._loaded = None
        self._gone = []
        if self._prints is not None:
            self._prints.detach()  # the file belongs to the caller
            self._prints = None

    @contextmanager
    def _outside(self) -> Iterator[None]:
        """In the block, keep what the learner's code prints, and let its standard input be empty.

        The code can import only Python's own library. The same is true for a learner's code in a
        separate process.
        """
        if self._prints is None:
            kept = self._stderr
            self._prints = io.TextIOWrapper(
                io.FileIO(os.devnull, "wb") if kept is None or isinstance(kept, int) else kept
            )
        stdin, sys.stdin = sys.stdin, io.StringIO()
        hook, sys.breakpointhook = sys.breakpointhook, learner_process.debugger("", _say_nothing)
        find: Any = builtins.__import__
        builtins.__import__ = _only_python  # type: ignore[assignment]  # it passes on what it gets
        try:
            with redirect_stdout(self._prints), redirect_stderr(self._prints):
                yield
        finally:
            builtins.__import__, sys.breakpointhook, sys.stdin = find, hook, stdin
            self._prints.flush()

    def _fail(self, error: BaseException, shown: str, called_at: int = 0) -> None:
        """Raise the LearnerFailure that reports this error."""
        said: dict[str, object]
        if not isinstance(error, Exception):  # it would end a process of the learner
            said = {"error": "ended the process"}
        elif isinstance(error, MemoryError):
            said = {"error": "MemoryError: this page has no more memory"}
        else:
            said = learner_process.error_of(error, str(self._file), 0.0, called_at)
        self._read_answer(json.dumps(said).encode(), shown, 0.0)


_import: Final = builtins.__import__


def _only_python(
    name: str, names: Mapping[str, object] | None = None, *others: Any, **more: Any
) -> ModuleType:
    """Import a module. The learner's file may import only modules of Python's own library."""
    of_learner = (names or {}).get("__name__") == learner_process.MODULE
    if of_learner and name.partition(".")[0] not in sys.stdlib_module_names:
        raise ModuleNotFoundError(f"No module named {name.partition('.')[0]!r}")
    return _import(name, names, *others, **more)


def _say_nothing(_: dict[str, object]) -> None:
    """Nobody listens for a breakpoint in the page."""
