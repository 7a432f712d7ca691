"""A target's health has hysteresis: a change needs looks in a row."""

import pytest

from kafka_edu.clients.proxy.health import DOWN_AFTER, UP_AFTER, Health


def states(health: Health, looks: str) -> str:
    """Return the states after these looks: + answers, - fails; U is Up, D is Down."""
    return "".join(health.saw(one == "+").value[0] for one in looks)


def test_the_first_look_decides() -> None:
    assert states(Health(9, 9), "+") == "U"
    assert states(Health(9, 9), "-") == "D"


@pytest.mark.parametrize(
    ("limits", "looks", "expected"),
    [
        ((DOWN_AFTER, UP_AFTER), "+-+--+", "UUUUDU"),
        ((3, 2), "+--+---+-++", "UUUUUUDDDDU"),
        ((1, 1), "+-+-", "UDUD"),
        ((2, 3), "-++-+++--", "DDDDDDUUD"),
    ],
)
def test_only_what_comes_in_a_row_counts(
    limits: tuple[int, int], looks: str, expected: str
) -> None:
    assert states(Health(*limits), looks) == expected
