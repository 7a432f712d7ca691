"""Settings for the tests of the exercises."""

from itertools import count

import pytest


@pytest.fixture(autouse=True)
def seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the random seeds of checks and of learners' files by the seeds 1, 2, 3…"""
    drawn = count(1)
    monkeypatch.setattr("exercises.runner.check.new_seed", lambda: next(drawn))
    monkeypatch.setattr("exercises.runner.workplace.new_seed", lambda: next(drawn))
