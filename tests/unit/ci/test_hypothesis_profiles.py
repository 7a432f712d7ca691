"""In CI hypothesis tries the same examples in each run. On other machines it chooses new examples
in each run.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.hypothesis_profiles import load

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def _profile_of_this_run() -> Iterator[None]:
    name = settings.get_current_profile_name()
    yield
    settings.load_profile(name)


def test_in_ci_the_examples_are_the_same_in_each_run() -> None:
    load({"CI": "true"})
    assert settings().derandomize
    assert settings().print_blob
    assert settings().deadline is None


@pytest.mark.parametrize("environment", [{}, {"CI": "false"}])
def test_elsewhere_they_are_random(environment: dict[str, str]) -> None:
    load(environment)
    assert not settings().derandomize
    assert settings().deadline is None


def test_the_script_of_ci_says_that_it_is_ci() -> None:
    assert re.search(r"^export CI=true\b", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
