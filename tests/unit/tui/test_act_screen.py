"""The form of an act has a field with an example for each parameter of each act."""

from kafka_edu.supervisor.act_table import ACTS
from tui.screens.act_screen import _EXAMPLES


def test_each_parameter_of_each_act_has_an_example() -> None:
    assert {parameter for act in ACTS.values() for parameter in act.parameters} <= set(_EXAMPLES)
