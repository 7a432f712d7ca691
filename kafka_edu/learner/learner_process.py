"""Run a learner's code in a separate process.

Usage: `python -I -S learner_process.py FILE WANTED PROCESSOR_LIMIT_S [TERMINAL]`

The broker and the public tests start this program and send it questions
(`kafka_edu.learner.learner`). A learner's file can change or replace objects only in this process,
and no answer is judged here. This program imports no other module of this project, because the
learner's code could replace it. The one exception is `learner_wall`. It has done its work before
the learner's code begins: from then on this process can read no file but the learner's file and
Python's own files.

Questions are lines of JSON on standard input. Each question has one line as its answer:
  {"make": [arguments]}                                 → {"object": number}
  {"object": number, "call": name, "arguments": [...]}  → {"value": ..., "line": number}
  {"object": number, "calls": [[name, [...]], ...]}     → {"value": of the last}
  any of these with "gone": [numbers]                   objects that are no longer used
  {"made": true}                                        → {"value": how many objects were made}
The first line of output, before any question, says whether the file could be loaded. Any answer may
be {"error": text, "line": number, "column": number, "timed_out": bool}. It reports an exception and
the place in the learner's file that raised it. The column, from 1, is known for a syntax error
only. The line of a value is the line of the `return` that made it. An answer also says how much
processor time it took: "used_s". That number is used to measure reference solutions, never to judge
a learner's code.

JSON has no bytes. In questions and in answers, {"bytes": "ac02"} stands for bytes.

The learner's prints go to standard error. `breakpoint()` opens Python's debugger on TERMINAL.
Before that, the process writes the line {"breakpoint": number}, and from then on there is no time
limit. Without a terminal, as in a broker, `breakpoint()` is an error, because it would stop the
broker.

The process ends when the process that started it ends, even if the learner's code is in an endless
loop.
"""

import functools
import inspect
import itertools
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, ModuleType
from typing import Any, Final, TextIO

# The option -I leaves this program's folder out of the path. It is added for this one import.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
with suppress(ImportError):  # in a web page, which has no processes, only `answer` is used
    import resource

    from learner_wall import MEMORY_LIMIT, build_wall  # type: ignore[import-not-found]

del sys.path[0]


MODULE: Final = "learner"
"""The name of the module that the learner's file becomes."""
NUMBERS = itertools.count()
"""The numbers of objects. No number is used twice."""
LOADING_LIMIT_S = 1.0
"""The processor time (s) for loading a file is limited to at least this.

Imports may take longer than a call.
"""


class _TimeIsUp(BaseException):
    """Stops an endless loop. It is not an Exception, so `except Exception` does not catch it."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise _TimeIsUp in the block after `seconds` of this process's CPU time.

    Time in which other processes use the CPU does not count.
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
    """Finds the line of the `return` statement from which an answer came. If the method calls
    itself, each of its calls has a `return` line.
    """

    def __init__(self, file: str, method: str) -> None:
        self._file = file
        self._method = method
        self._returned: list[tuple[int, object]] = []

    def __call__(self, frame: FrameType, event: str, value: object) -> "AnswerTrace | None":
        """Handle an event of `sys.settrace`. Only the learner's method is traced."""
        code = frame.f_code
        if code.co_name != self._method or code.co_filename != self._file:
            return None
        frame.f_trace_lines = False
        if event == "return":
            self._returned.append((frame.f_lineno, value))
        return self

    def line_of(self, answer: object) -> int:
        """Return the line that first returned the object `answer`; 0 if no line did."""
        return next((line for line, value in self._returned if value is answer), 0)


def error_of(
    error: BaseException, file: str, limit_s: float, called_at: int = 0
) -> dict[str, object]:
    """Return the answer that reports an exception.

    `called_at` is the line where the called function begins. It is reported if the call fails
    before the function's first line, for example because of too many arguments.
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
    """Return the text of the file. Raises SyntaxError with line and column if it is not UTF-8."""
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
    module = ModuleType(MODULE)
    module.__file__ = file
    sys.modules[MODULE] = module
    exec(compile(read_source(file), file, "exec"), vars(module))
    if wanted not in vars(module):
        raise NotImplementedError(
            f"the file does not define {wanted}: see README.md, or begin again from the starter"
        )
    return vars(module)[wanted]


def count_objects(wanted: Any) -> "Counter[str]":
    """Count the objects of the class `wanted` from now on. Return the count under "made"."""
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
    """Return the bytes if the JSON object `document` stands for bytes; otherwise return the
    object.
    """
    hexadecimal = document.get("bytes")
    return bytes.fromhex(hexadecimal) if isinstance(hexadecimal, str) else document


def document_of(value: object) -> object:
    """Return the JSON object that stands for bytes. Raises TypeError if the value is not bytes."""
    if isinstance(value, bytes | bytearray | memoryview):
        return {"bytes": value.hex()}
    raise TypeError(type(value).__name__)


def plain(value: object) -> object:
    """Return the value if JSON can hold it. Raises TypeError otherwise."""
    try:
        json.dumps(value, default=document_of)
    except (TypeError, ValueError):
        raise TypeError(
            f"the answer is {value!r:.80}, of type {type(value).__name__}; an answer is made of"
            " numbers, texts, bytes, True, False, None, and tuples, lists or dicts of them"
        ) from None
    return value


def run(function: Any, arguments: list[Any], file: str) -> dict[str, object]:
    """Call the learner's function and return the answer with its value and line."""
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
    """Carry out one question: make an object, or call methods. Return the answer.

    Raises whatever the learner's code raises.
    """
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
    """Return the line where the called function of the learner begins; 0 if it is not known."""
    whole = "make" in question or "run" in question
    owner = wanted if whole else type(objects[question["object"]])
    named = vars(owner) if isinstance(owner, type) else {"": owner}
    function = named.get("__init__" if "make" in question else question.get("call", ""), owner)
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code.co_firstlineno if code is not None else 0


def read_questions(questions: TextIO, waiting: "queue.SimpleQueue[str]") -> None:
    """Read questions in a separate thread, and end this process when the input ends.

    So this process ends together with the process that started it, even during an endless loop.
    """
    for line in questions:
        waiting.put(line)
    os._exit(0)


def debugger(terminal: str, say: Callable[[dict[str, object]], None]) -> Callable[..., None]:
    """Return the function that `breakpoint()` calls.

    The terminal is opened at once, because the wall forbids it later.
    """
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
        while traced is not None:  # AnswerTrace needs no line events, but pdb does
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
    """Load the learner's file, and answer questions until the input ends."""
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
        except (Exception, _TimeIsUp) as error:  # the learner's file raised it
            said = error_of(error, file, limit_s, line_of_call(question, wanted, objects))
        say(said)


def main() -> None:
    """Read the command line and answer questions.

    The pipes for questions and answers are moved away from standard input and output, so that the
    learner's `input` and `print` cannot use them.
    """
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
