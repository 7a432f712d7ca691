"""The table of acts: a title names the act's parameters, and words of a shell become values."""

import pytest

from kafka_edu.supervisor.act_table import ACTS, Act, Parameter, parse_values


@pytest.mark.parametrize("act", ACTS.values(), ids=lambda act: act.name)
def test_a_title_names_each_parameter_and_no_other(act: Act) -> None:
    for parameter in Parameter:
        assert (f"{{{parameter}}}" in act.title) == (parameter in act.parameters)
    values: dict[str, object] = {parameter.value: "x" for parameter in act.parameters}
    assert "<" not in act.title_with(values)
    assert act.effect.endswith(".")


def test_words_become_values() -> None:
    assert parse_values(ACTS["slow-link"], ["0", "2", "250"]) == {
        "broker": 0,
        "other": 2,
        "delay_ms": 250,
    }
    assert parse_values(ACTS["reassign"], ["web-0", "1,2"]) == {
        "partition": "web-0",
        "replicas": "1,2",
    }
    assert parse_values(ACTS["delete-controller"], []) == {}


@pytest.mark.parametrize(
    ("name", "words", "said"),
    [
        ("kill", [], "'kill' takes BROKER"),
        ("delete-controller", ["1"], "'delete-controller' takes no parameters"),
        ("slow-link", ["0", "1", "fast"], "DELAY_MS of 'slow-link' is a number, not 'fast'"),
    ],
)
def test_wrong_words_are_named(name: str, words: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_values(ACTS[name], words)
