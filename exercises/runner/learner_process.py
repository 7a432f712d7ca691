"""The process in which learner's code runs while it is tested: `python learner_process.py FILE WANTED`.

Questions come in as lines of JSON, answers go out so; whoever asks is the judge, and sits in another process.
  {"make": [arguments]}                     → {"object": number}
  {"object": number, "call": name, "arguments": [...]} → {"value": ...}
Either may be answered {"error": text, "line": number}: the learner's exception, and the line of the learner's file. What the learner prints goes to
standard error.
"""

import json
import sys
import traceback
from types import ModuleType
from typing import Any, TextIO


def error_of(error: BaseException, file: str) -> dict[str, object]:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    if isinstance(error, SyntaxError) and error.filename == file:
        lines.append(error.lineno)
    text = str(error) if isinstance(error, NotImplementedError) and str(error) else f"{type(error).__name__}: {error}"
    return {"error": text, "line": lines[-1] if lines else 0}


def load(file: str, wanted: str) -> Any:
    module = ModuleType("learner")
    module.__file__ = file
    with open(file, encoding="utf-8") as source:
        exec(compile(source.read(), file, "exec"), vars(module))
    if wanted not in vars(module):
        raise NotImplementedError(f"the file does not define {wanted}: see README.md, or begin anew from the starter")
    return vars(module)[wanted]


def answer(question: dict[str, Any], wanted: Any, objects: list[Any]) -> dict[str, object]:
    if "make" in question:
        objects.append(wanted(*question["make"]))
        return {"object": len(objects) - 1}
    value = getattr(objects[question["object"]], question["call"])(*question["arguments"])
    json.dumps(value)
    return {"value": value}


def serve(file: str, wanted_name: str, questions: TextIO, answers: TextIO) -> None:
    """Answer until there are no more questions. The first answer tells whether the file could be loaded."""
    objects: list[Any] = []

    def say(what: dict[str, object]) -> None:
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    try:
        wanted = load(file, wanted_name)
    except Exception as error:  # whatever the learner's file raises is told as the learner's
        say(error_of(error, file))
        return
    say({"loaded": wanted_name})
    for line in questions:
        try:
            said = answer(json.loads(line), wanted, objects)
        except Exception as error:  # as above
            said = error_of(error, file)
        say(said)


if __name__ == "__main__":
    real_output, sys.stdout = sys.stdout, sys.stderr
    serve(sys.argv[1], sys.argv[2], sys.stdin, real_output)
