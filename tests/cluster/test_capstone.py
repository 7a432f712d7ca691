"""Play some moments of the capstone on a real cluster. The reference solutions stand in for all
parts of the learner's broker.
"""

import pytest

from exercises.capstone import MOMENTS, play
from exercises.capstone_report import report_of
from exercises.my_broker import reference_parts
from exercises.runner.manifest import load_manifest
from tests.drawn import drawn

pytestmark = pytest.mark.cluster


@pytest.mark.rotated
def test_the_references_hold_in_two_moments() -> None:
    """Which ones, the commit decides."""
    moments = drawn(MOMENTS, 2)
    parts = reference_parts(load_manifest().values())
    played = play(parts, 1, 0, lambda _: None, moments)
    failed = [step for steps in played.steps.values() for step in steps if not step.passed]
    assert failed == []
    report = report_of(played, parts, None, moments)
    assert [target for target in report.targets if not target.holds] == []
