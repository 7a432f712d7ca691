"""The health of a target changes only after several equal results in a row (hysteresis)."""

import pytest

from kafka_edu.clients.proxy.health import DOWN_AFTER, UP_AFTER, Health


def states(health: Health, looks: str) -> str:
    """Return the state after each look: U for Up, D for Down. In `looks`, + means that the target
    answered, and - that it failed.
    """
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
