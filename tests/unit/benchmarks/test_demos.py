"""When `bench demos` counts a run of a demo as right."""

import json

import pytest

from benchmarks.demos import Run, report_of, run_of

SENTENCES = "What happened: All is there.\nWhy: Because.\nWhat to look at next: More.\n"
GAVE_UP = "What happened: The demo could not continue: x\nWhy: y\nWhat to do: z\n"
TRACEBACK = 'Traceback (most recent call last):\n  File "x.py"\nTimeoutError: x\n'


def figures(holds: bool) -> str:
    return json.dumps({"targets": [{"name": "lost", "holds": holds}]})


@pytest.mark.parametrize(
    ("code", "said", "written", "in_sentences", "right", "happened"),
    [
        (0, f"table\n{SENTENCES}", figures(True), True, True, "All is there."),
        (1, f"table\n{SENTENCES}", figures(False), True, False, "All is there."),
        (1, GAVE_UP, "", True, False, "The demo could not continue: x"),
        (1, TRACEBACK, "", False, False, "TimeoutError: x"),
        (0, TRACEBACK + SENTENCES, figures(True), False, False, "All is there."),
        (0, "", "", False, False, ""),
    ],
    ids=["right", "a target", "gave up", "traceback", "a thread's traceback", "silence"],
)
def test_a_run(
    code: int, said: str, written: str, in_sentences: bool, right: bool, happened: str
) -> None:
    run = run_of("web-log", code, 12.0, said, written)
    assert (run.in_sentences, run.right, run.happened) == (in_sentences, right, happened)


def test_the_report_counts_the_runs_of_each_demo() -> None:
    good = Run("a", 0, 10.0, True, (), "All is there.")
    report = report_of([good, good._replace(seconds=20.0, code=1), good._replace(demo="b")])
    assert report.figures["a: s, median"] == 15.0
    assert {t.name: t.value for t in report.targets} == {
        "a: runs that do not end with their sentences": 0,
        "a: runs that did not show what they should": 1,
        "b: runs that do not end with their sentences": 0,
        "b: runs that did not show what they should": 0,
    }
