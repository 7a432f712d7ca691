"""The acts that screens declare and bind to keys are acts of the table."""

import re

import pytest
from textual.binding import Binding

from kafka_edu.supervisor.act_table import ACTS
from tui.screens.dashboard_screen import DashboardScreen
from tui.screens.registry import SCREENS


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.declaration.name)
def test_a_screen_declares_acts_of_the_table_and_binds_only_those(
    screen: type[DashboardScreen],
) -> None:
    declared = set(screen.declaration.acts)
    actions = [each.action for each in screen.BINDINGS if isinstance(each, Binding)]
    bound = {found[1] for each in actions if (found := re.fullmatch(r"act\('(.+)'\)", each))}
    assert declared <= set(ACTS)
    assert bound <= declared
