"""Which of the long tests a commit runs."""

import pytest

from tests import drawn
from tests.drawn import is_chosen

NAMES = [f"tests/test_{number}.py::test_it" for number in range(1_000)]


@pytest.fixture(autouse=True)
def of_a_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAFKA_EDU_ALL", raising=False)
    monkeypatch.setattr(drawn, "commit", lambda: "4f179d59b")


def test_a_commit_runs_about_a_half_and_always_the_same() -> None:
    chosen = [name for name in NAMES if is_chosen(name)]
    assert 400 < len(chosen) < 600
    assert chosen == [name for name in NAMES if is_chosen(name)]


def test_other_commits_run_others_and_ten_of_them_nearly_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = set()
    for number in range(10):
        monkeypatch.setattr(drawn, "commit", lambda number=number: f"commit {number}")
        run |= {name for name in NAMES if is_chosen(name)}
    assert len(run) > 990


def test_with_the_variable_all_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_EDU_ALL", "1")
    assert all(map(is_chosen, NAMES))
