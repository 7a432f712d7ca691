"""The demo of the eight rules: if a rule is broken, exactly the records that its fault aims at are
lost. If the rule is kept, no record is lost.
"""

from pathlib import Path

import pytest

from chapters.ch10_replication.eight_rules import RULES
from tests.demos import play
from tests.drawn import drawn

pytestmark = pytest.mark.faults

SOME = drawn(list(enumerate(RULES, 1)), 3)
"""Those that are played, each with its number. A rule takes two clusters, one after the other."""


@pytest.mark.rotated
def test_a_rule_loses_records_when_broken_and_none_when_kept(tmp_path: Path) -> None:
    options = [word for number, _ in SOME for word in ("--rule", str(number))]
    played = play(tmp_path, "eight-rules", *options)
    assert len(played.targets) == 2 * len(SOME)
    for number, rule in SOME:
        assert played.figures[f"rule {number} broken"]["lost"] == rule.broken
        assert played.figures[f"rule {number} kept"]["lost"] == 0
    lost = sum(rule.broken for _, rule in SOME)
    assert f"{len(SOME)} rules were broken, and {lost} records were lost." in played.said
