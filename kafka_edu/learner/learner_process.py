"""Run a learner's code in a process of its own: `python -I -S learner_process.py FILE WANTED
PROCESSOR_LIMIT_S [TERMINAL]`.

The broker and the public tests start this program and send it questions
(`kafka_edu.learner.learner`). Whatever a learner's file changes, replaces or forges, it does in
this process, where nothing is judged. This program imports nothing of ours, because the learner
could replace the first module that it imports. The one exception is `learner_wall`, which is
imported and done before the learner's code begins: from then on this process can read no file but
the learner's and Python's own.

Questions are lines of JSON on standard input. Each has one line as its answer:
  {"make": [arguments]}                                 → {"object": number}
  {"object": number, "call": name, "arguments": [...]}  → {"value": ..., "line": number}
  {"object": number, "calls": [[name, [...]], ...]}     → {"value": of the last}
  any of these with "gone": [numbers]                   objects that nobody asks any more
  {"made": true}                                        → {"value": how many objects were made}
The first line, before any question, says whether the file could be loaded. Any answer may be
{"error": text, "line": number, "column": number, "timed_out": bool}: an exception, and the place in
the learner's file that raised it. The column, from 1, is known for a syntax error only. The line of
a value is that of the `return` that made it. An answer also says how much processor time it took:
"used_s". Nobody judges by that number; it is how a reference solution is measured.

JSON has no bytes: {"bytes": "ac02"} stands for them, in questions and in answers.

The learner's prints go to standard error. `breakpoint()` opens Python's debugger on TERMINAL, after
the line {"breakpoint": number}, from which on nobody limits the time. Without a terminal, as in a
broker, `breakpoint()` is an error, because a broker that stops is a broken broker.

The process ends when the asking process ends, even from
an endless loop.
"""

import functools
import inspect
import itertools
import json
import os
import queue
import resource
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, ModuleType
from typing import Any, TextIO

# -I leaves this program's own folder out of the path; it is there for this one import.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from learner_wall import MEMORY_LIMIT, build_wall  # type: ignore[import-not-found]

del sys.path[0]


NUMBERS = itertools.count()
"""The numbers of objects. None is used twice."""
LOADING_LIMIT_S = 1.0
"""The least processor time for loading a file, in s: its imports may cost more than a call may."""


class _TimeIsUp(BaseException):
    """Stops an endless loop. It is not an Exception, so `except Exception` in the loop does not
    catch it.
    """


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise _TimeIsUp in the block after `seconds` of this process's CPU time. A busy machine does
    not count.
    """

    def on_alarm(_: int, __: FrameType | None) -> None:
        raise _TimeIsUp

    signal.signal(signal.SIGVTALRM, on_alarm)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


class AnswerTrace:
    """Finds the line of the `return` that made an answer, among those of nested calls."""

    def __init__(self, file: str, method: str) -> None:
        self._file = file
        self._method = method
        self._returned: list[tuple[int, object]] = []

    def __call__(self, frame: FrameType, event: str, value: object) -> "AnswerTrace | None":
        """Take an event of `sys.settrace`; only those of the learner's method are wanted."""
        code = frame.f_code
        if code.co_name != self._method or code.co_filename != self._file:
            return None
        frame.f_trace_lines = False
        if event == "return":
            self._returned.append((frame.f_lineno, value))
        return self

    def line_of(self, answer: object) -> int:
        """Return the line that first returned the object that is the answer; 0 if none did."""
        return next((line for line, value in self._returned if value is answer), 0)


def error_of(
    error: BaseException, file: str, limit_s: float, called_at: int = 0
) -> dict[str, object]:
    """Return the answer that reports an exception. `called_at` is the line where the called
    function begins. It is reported if the call failed before that, as by too many arguments.
    """
    lines = [called_at] * (called_at > 0) + [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == file
    ]
    column = 0
    if isinstance(error, SyntaxError) and error.filename == file:
        lines.append(error.lineno)
        column = error.offset or 0
        text = f"{type(error).__name__}: {error.msg}"
    elif isinstance(error, _TimeIsUp):
        text = (
            f"did not come back within {limit_s:g} s of processor time: is there a loop that never"
            " ends?"
        )
    elif isinstance(error, MemoryError):
        limit = min(resource.getrlimit(resource.RLIMIT_AS)[0] % (1 << 63), MEMORY_LIMIT)
        shown = f"{limit >> 30} GB" if limit >> 30 else f"{limit >> 20} MB"
        text = f"MemoryError: a learner's process may use {shown}"
    elif isinstance(error, NotImplementedError) and str(error):
        text = str(error)
    elif isinstance(error, ModuleNotFoundError):
        text = (
            f"{type(error).__name__}: {error}: your file can import Python's own library, but no"
            " other package, and nothing of the course"
        )
    else:
        text = f"{type(error).__name__}: {error}"
    return {
        "error": text,
        "line": lines[-1] if lines else 0,
        "column": column,
        "timed_out": isinstance(error, _TimeIsUp),
    }


def read_source(file: str) -> str:
    """Return the text of the file. Raises SyntaxError with its place if the file is not UTF-8."""
    with open(file, "rb") as source:
        content = source.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        raise SyntaxError(
            f"byte 0x{content[error.start]:02x} is not UTF-8; save the file in the encoding UTF-8",
            (file, line, column, None),
        ) from None


def load(file: str, wanted: str) -> Any:
    """Run the file and return the object that it defines under the wanted name."""
    module = ModuleType("learner")
    module.__file__ = file
    sys.modules["learner"] = module
    exec(compile(read_source(file), file, "exec"), vars(module))
    if wanted not in vars(module):
        raise NotImplementedError(
            f"the file does not define {wanted}: see README.md, or begin again from the starter"
        )
    return vars(module)[wanted]


def count_objects(wanted: Any) -> "Counter[str]":
    """Return a count, under "made", of the objects that the class `wanted` makes from now on."""
    counted: Counter[str] = Counter()
    if isinstance(wanted, type) and "__init__" in vars(wanted):
        learners: Any = wanted
        begin = learners.__init__

        @functools.wraps(begin)
        def begin_and_count(self: object, *arguments: Any, **keywords: Any) -> None:
            counted["made"] += 1
            begin(self, *arguments, **keywords)

        learners.__init__ = begin_and_count
    return counted


def bytes_of(document: dict[str, object]) -> object:
    """Return the bytes that a JSON object of a question stands for, or the object itself."""
    hexadecimal = document.get("bytes")
    return bytes.fromhex(hexadecimal) if isinstance(hexadecimal, str) else document


def document_of(value: object) -> object:
    """Return what stands for bytes in JSON. Raises TypeError for anything else."""
    if isinstance(value, bytes | bytearray | memoryview):
        return {"bytes": value.hex()}
    raise TypeError(type(value).__name__)


def plain(value: object) -> object:
    """Return the value, which must be something that an answer can say. Raises TypeError."""
    try:
        json.dumps(value, default=document_of)
    except (TypeError, ValueError):
        raise TypeError(
            f"the answer is {value!r:.80}, of type {type(value).__name__}; an answer is made of"
            " numbers, texts, bytes, True, False, None, and tuples, lists or dicts of them"
        ) from None
    return value


def run(function: Any, arguments: list[Any], file: str) -> dict[str, object]:
    """Call the learner's function."""
    trace = AnswerTrace(file, getattr(function, "__name__", ""))
    sys.settrace(trace)
    try:
        value = function(*arguments)
    finally:
        sys.settrace(None)
    return {"value": plain(value), "line": trace.line_of(value)}


def answer(
    question: dict[str, Any],
    file: str,
    wanted: Any,
    objects: dict[int, Any],
    counted: "Counter[str]",
) -> dict[str, object]:
    """Make an object, or call a method of one. Raises whatever the learner's code raises."""
    if "made" in question:
        return {"value": counted["made"]}
    if "make" in question:
        number = next(NUMBERS)
        objects[number] = wanted(*question["make"])
        return {"object": number}
    if "run" in question:
        return run(wanted, question["run"], file)
    if "calls" in question:
        many = objects[question["object"]]
        last = None
        for name, arguments in question["calls"]:
            last = getattr(many, name)(*arguments)
        return {"value": plain(last)}
    method: str = question["call"]
    trace = AnswerTrace(file, method)
    called = getattr(objects[question["object"]], method)
    sys.settrace(trace)
    try:
        value = called(*question["arguments"])
    finally:
        sys.settrace(None)
    return {"value": plain(value), "line": trace.line_of(value)}


def line_of_call(question: dict[str, Any], wanted: Any, objects: dict[int, Any]) -> int:
    """Return the line where the learner's function begins that a question calls; 0 if unknown."""
    whole = "make" in question or "run" in question
    owner = wanted if whole else type(objects[question["object"]])
    named = vars(owner) if isinstance(owner, type) else {"": owner}
    function = named.get("__init__" if "make" in question else question.get("call", ""), owner)
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code.co_firstlineno if code is not None else 0


def read_questions(questions: TextIO, waiting: "queue.SimpleQueue[str]") -> None:
    """Read questions in a thread, so that the end of the asking process ends this one, even in a
    loop.
    """
    for line in questions:
        waiting.put(line)
    os._exit(0)


def debugger(terminal: str, say: Callable[[dict[str, object]], None]) -> Callable[..., None]:
    """Return the function that `breakpoint()` calls. It opens the terminal now, before the wall."""
    if not terminal:

        def refuse(*_: object, **__: object) -> None:
            raise RuntimeError(
                "breakpoint() stops only the unit part, at a terminal: lab check --no-live, or lab"
                " watch. Take it out before the live part"
            )

        return refuse
    import pdb  # only now, because most checks need none

    keyboard = os.fdopen(os.open(terminal, os.O_RDONLY | os.O_NOCTTY), encoding="utf-8")
    screen = os.fdopen(os.open(terminal, os.O_WRONLY | os.O_NOCTTY), "w", encoding="utf-8")

    def stop(*_: object, **__: object) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        frame = sys._getframe(1)
        traced: FrameType | None = frame
        while traced is not None:  # AnswerTrace has no use for their lines, the debugger has
            traced.f_trace_lines = True
            traced = traced.f_back
        say({"breakpoint": frame.f_lineno})
        screen.write("\nbreakpoint(): n next line, p NAME print, c continue, q give up, h help\n")
        pdb.Pdb(stdin=keyboard, stdout=screen, nosigint=True, readrc=False).set_trace(frame)

    return stop


def serve(
    file: str,
    wanted_name: str,
    limit_s: float,
    terminal: str,
    questions: TextIO,
    answers: TextIO,
) -> None:
    """Answer questions until there are no more."""
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=read_questions, args=(questions, waiting), daemon=True).start()
    objects: dict[int, Any] = {}

    def say(what: dict[str, object]) -> None:
        with suppress(OSError):  # the prints have filled their file
            sys.stdout.flush()
        answers.write(json.dumps(what, default=document_of) + "\n")
        answers.flush()

    sys.breakpointhook = debugger(terminal, say)
    build_wall(file)
    loading_limit_s = max(limit_s, LOADING_LIMIT_S)
    try:
        began_s = time.process_time()
        with cpu_limit(loading_limit_s):
            wanted = load(file, wanted_name)
        used_s = time.process_time() - began_s
    except (
        Exception,
        _TimeIsUp,
    ) as error:  # whatever the learner's file raises is reported as the learner's error
        say(error_of(error, file, loading_limit_s))
        return
    say({"loaded": wanted_name, "used_s": used_s})
    counted = count_objects(wanted)
    while True:
        question = json.loads(waiting.get(), object_hook=bytes_of)
        for number in question.get("gone", ()):
            objects.pop(number, None)
        try:
            began_s = time.process_time()
            with cpu_limit(limit_s):
                said = answer(question, file, wanted, objects, counted)
            said["used_s"] = time.process_time() - began_s
        except (Exception, _TimeIsUp) as error:  # as above
            said = error_of(error, file, limit_s, line_of_call(question, wanted, objects))
        say(said)


def main() -> None:
    """Keep the pipes for questions and answers away from the learner's `input` and `print`."""
    questions, answers = (
        os.fdopen(os.dup(0), encoding="utf-8"),
        os.fdopen(os.dup(1), "w", encoding="utf-8"),
    )
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    file, wanted, limit_s, *terminal = sys.argv[1:]
    serve(file, wanted, float(limit_s), "".join(terminal), questions, answers)


if __name__ == "__main__":
    main()
