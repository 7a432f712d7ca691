"""If one part of the learner's broker is wrong, the capstone's moment for this part fails, in the
expected step and with the expected text.
"""

import pytest
from rich.console import Console

from exercises.capstone_wrong import prove_wrong_parts

pytestmark = pytest.mark.long


def test_each_wrong_part_fails_in_its_own_moment() -> None:
    report = prove_wrong_parts(1, Console())
    assert [target for target in report.targets if not target.holds] == []
