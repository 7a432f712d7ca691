"""Run a learner's code in a process of its own: `python -I learner_process.py FILE WANTED
CPU_LIMIT_S`.

The broker and the public tests start this program and send it questions
(`kafka_edu.learner.learner`). Whatever a learner's file changes, replaces or forges, it does in
this process, where nothing is judged. This program imports nothing of ours, because the learner
could replace the first module that it imports.

Questions are lines of JSON on standard input. Each has one line as its answer:
  {"make": [arguments]}                                 → {"object": number}
  {"object": number, "call": name, "arguments": [...]}  → {"value": ...}
The first line, before any question, says whether the file could be loaded. Any answer may be
{"error": text, "line": number}: an exception, and the line of the learner's file that raised it.
The learner's prints go to standard error. The process ends when the asking process ends, even from
an endless loop.
"""

import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any, TextIO


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
    if isinstance(error, SyntaxError) and error.filename == file:
        lines.append(error.lineno)
    if isinstance(error, _TimeIsUp):
        text = f"did not come back within {limit_s:g} s: is there a loop that never ends?"
    elif isinstance(error, NotImplementedError) and str(error):
        text = str(error)
    else:
        text = f"{type(error).__name__}: {error}"
    return {"error": text, "line": lines[-1] if lines else 0}


def load(file: str, wanted: str) -> Any:
    """Run the file and return the object that it defines under the wanted name."""
    module = ModuleType("learner")
    module.__file__ = file
    sys.modules["learner"] = module
    with open(file, encoding="utf-8") as source:
        exec(compile(source.read(), file, "exec"), vars(module))
    if wanted not in vars(module):
        raise NotImplementedError(
            f"the file does not define {wanted}: see README.md, or begin again from the starter"
        )
    return vars(module)[wanted]


def answer(question: dict[str, Any], wanted: Any, objects: list[Any]) -> dict[str, object]:
    """Make an object, or call a method of one. Raises whatever the learner's code raises."""
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
    while True:
        question = json.loads(waiting.get())
        try:
            with cpu_limit(limit_s):
                said = answer(question, wanted, objects)
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
    serve(sys.argv[1], sys.argv[2], float(sys.argv[3]), questions, answers)


if __name__ == "__main__":
    main()
