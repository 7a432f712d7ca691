"""Grade one submission in Gradescope's container.

    python -m exercises.grading.gradescope 02-1 SEED /autograder

The folder /autograder has `submission`, with the student's files, and `results`, for results.json.
The container holds one submission only. If it allows namespaces, the student's code runs in the
same jail as in `lab grade`. If not, it runs with a user id and limits of its own, and only root can
open the folders `source` and `results`.
"""

import json
import sys
from pathlib import Path

from ..runner.manifest import find_exercise
from .grade import Grade, Grader, Kind, RefusedError, Result, why_no_jail
from .submissions import find_one


def results_of(grade: Grade) -> dict[str, object]:
    """Return the content of results.json, which Gradescope shows. Students see the public tests
    only.
    """
    first = next((row for row in grade.rows if row.part == "public" and not row.passed), None)
    return {
        "output": first.message if first is not None else "",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "execution_time": round(grade.seconds),
        "tests": [
            {
                "name": f"{row.test}: {row.says}",
                "number": f"{number}",
                "score": row.earned,
                "max_score": row.points,
                "status": "passed" if row.passed else "failed",
                "output": "" if row.passed else row.message,
                "tags": [row.part],
                "visibility": "visible" if row.part == "public" else "hidden",
            }
            for number, row in enumerate(grade.rows, 1)
        ],
    }


def grade_in_container(exercise_id: str, seed: int, top: Path) -> str:
    """Grade the submission and write results.json. Return the reason if this was not possible, else
    "".
    """
    exercise = find_exercise(exercise_id)
    refusals = {kind: why_no_jail(kind) for kind in (Kind.NAMESPACES, Kind.USER)}
    kind = next((kind for kind, refusal in refusals.items() if not refusal), None)
    if kind is None:
        return f"the submission cannot be kept from the grader: {refusals[Kind.USER]}"
    try:
        grader = Grader(exercise, seed, kind)
    except RefusedError as error:
        return str(error)
    grade = grader.grade(find_one(top / "submission", exercise), 1)
    if grade.result is Result.NOT_GRADED:
        return grade.reason
    text = json.dumps(results_of(grade), indent=1) + "\n"
    (top / "results" / "results.json").write_text(text, encoding="utf-8")
    return ""


if __name__ == "__main__":
    missing = grade_in_container(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
    if missing:
        sys.exit(f"not graded: {missing}")
