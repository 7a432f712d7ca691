"""A learner's file in a process of its own, for the tests of the adapters."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_edu.learner.seams import SEAMS, LearnerCode, LearnerError

Loaded = tuple[LearnerCode, list[LearnerError]]
"""The code, and the errors that it has made so far."""
Load = Callable[[str, str], Loaded]


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    """Return a function that loads a text as a learner's code for an exercise."""
    codes: list[LearnerCode] = []

    def load_text(exercise: str, text: str) -> Loaded:
        file = tmp_path / f"{len(codes)}.py"
        file.write_text(text, encoding="utf-8")
        code = LearnerCode(SEAMS[exercise], file)
        codes.append(code)
        errors: list[LearnerError] = []
        code.on_failure = errors.append
        return code, errors

    yield load_text
    for code in codes:
        code.close()
