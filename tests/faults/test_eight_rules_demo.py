"""The demo of the eight rules: each broken rule loses the records at which its fault is aimed, and
no kept one loses any.
"""

from pathlib import Path

import pytest

from chapters.ch10_replication.eight_rules import RULES
from tests.demos import play

pytestmark = pytest.mark.faults


def test_each_rule_loses_records_when_broken_and_none_when_kept(tmp_path: Path) -> None:
    played = play(tmp_path, "eight-rules")
    assert len(played.targets) == 2 * len(RULES)
    for number, rule in enumerate(RULES, 1):
        assert played.figures[f"rule {number} broken"]["lost"] == rule.broken
        assert played.figures[f"rule {number} kept"]["lost"] == 0
    assert "8 rules were broken, and 680 records were lost." in played.said
