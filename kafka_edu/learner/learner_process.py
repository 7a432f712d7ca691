"""Run a learner's code in a process of its own: `python -I -S learner_process.py FILE WANTED
CPU_LIMIT_S`.

The broker and the public tests start this program and send it questions
(`kafka_edu.learner.learner`). Whatever a learner's file changes, replaces or forges, it does in
this process, where nothing is judged. This program imports nothing of ours, because the learner
could replace the first module that it imports. The one exception is `learner_wall`, which is
imported and done before the learner's code begins: from then on this process can read no file but
the learner's and Python's own.

Questions are lines of JSON on standard input. Each has one line as its answer:
  {"make": [arguments]}                                 → {"object": number}
  {"object": number, "call": name, "arguments": [...]}  → {"value": ...}
  {"made": true}                                        → {"value": how many objects were made}
The first line, before any question, says whether the file could be loaded. Any answer may be
{"error": text, "line": number, "column": number, "timed_out": bool}: an exception, and the place in
the learner's file that raised it. The column, from 1, is known for a syntax error only.
The learner's prints go to standard error. The process ends when the asking process ends, even from
an endless loop.
"""

import functools
import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any, TextIO

# -I leaves this program's own folder out of the path; it is there for this one import.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from learner_wall import build_wall  # type: ignore[import-not-found]

del sys.path[0]


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


def error_of(error: BaseException, file: str, limit_s: float) -> dict[str, object]:
    """Return the answer that reports an exception."""
    lines = [
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
        text = f"did not come back within {limit_s:g} s: is there a loop that never ends?"
    elif isinstance(error, NotImplementedError) and str(error):
        text = str(error)
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
    if isinstance(wanted, type):
        learners: Any = wanted
        begin = learners.__init__

        @functools.wraps(begin)
        def begin_and_count(self: object, *arguments: Any, **keywords: Any) -> None:
            counted["made"] += 1
            begin(self, *arguments, **keywords)

        learners.__init__ = begin_and_count
    return counted


def answer(
    question: dict[str, Any], wanted: Any, objects: list[Any], counted: "Counter[str]"
) -> dict[str, object]:
    """Make an object, or call a method of one. Raises whatever the learner's code raises."""
    if "made" in question:
        return {"value": counted["made"]}
    if "make" in question:
        objects.append(wanted(*question["make"]))
        return {"object": len(objects) - 1}
    value = getattr(objects[question["object"]], question["call"])(*question["arguments"])
    json.dumps(value)
    return {"value": value}


def read_questions(questions: TextIO, waiting: "queue.SimpleQueue[str]") -> None:
    """Read questions in a thread, so that the end of the asking process ends this one, even in a
    loop.
    """
    for line in questions:
        waiting.put(line)
    os._exit(0)


def serve(file: str, wanted_name: str, limit_s: float, questions: TextIO, answers: TextIO) -> None:
    """Answer questions until there are no more."""
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=read_questions, args=(questions, waiting), daemon=True).start()
    objects: list[Any] = []

    def say(what: dict[str, object]) -> None:
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    try:
        with cpu_limit(limit_s):
            wanted = load(file, wanted_name)
    except (
        Exception,
        _TimeIsUp,
    ) as error:  # whatever the learner's file raises is reported as the learner's error
        say(error_of(error, file, limit_s))
        return
    say({"loaded": wanted_name})
    counted = count_objects(wanted)
    while True:
        question = json.loads(waiting.get())
        try:
            with cpu_limit(limit_s):
                said = answer(question, wanted, objects, counted)
        except (Exception, _TimeIsUp) as error:  # as above
            said = error_of(error, file, limit_s)
        say(said)


def main() -> None:
    """Keep the pipes for questions and answers away from the learner's `input` and `print`."""
    questions, answers = (
        os.fdopen(os.dup(0), encoding="utf-8"),
        os.fdopen(os.dup(1), "w", encoding="utf-8"),
    )
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    build_wall(sys.argv[1])
    serve(sys.argv[1], sys.argv[2], float(sys.argv[3]), questions, answers)


if __name__ == "__main__":
    main()
