"""The acts that screens declare and bind to keys are acts of the table."""

import re

import pytest
from textual.binding import Binding

from kafka_edu.supervisor.act_table import ACTS
from tui.screens.client_screen import ClientScreen
from tui.screens.dashboard_screen import DashboardScreen
from tui.screens.declaration import KEYS_OF_ACTS
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


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.declaration.name)
def test_an_act_on_a_broker_has_the_same_key_on_each_screen_that_binds_it(
    screen: type[DashboardScreen],
) -> None:
    keys = {each.action: each.key for each in screen.BINDINGS if isinstance(each, Binding)}
    bound = {act: keys[action] for act in ACTS if (action := f"act('{act}')") in keys}
    assert bound.items() <= KEYS_OF_ACTS.items()
    assert all(each.action in keys for each in screen.declaration.act_keys()) or not bound


def test_the_keys_of_acts_are_in_the_order_of_the_declaration() -> None:
    declaration = ClientScreen.declaration._replace(acts=("resume", "reassign", "kill"))
    assert [(one.key, one.action, one.description) for one in declaration.act_keys()] == [
        ("r", "act('resume')", "resume"),
        ("k", "act('kill')", "kill"),
    ]
