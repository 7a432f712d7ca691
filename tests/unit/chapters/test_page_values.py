"""Read the marked values of a page, and compare them with the values of a run."""

import pytest

from chapters.page_values import PageError, compare, page_values

PAGE = """# A page
It goes into slot **17**<!-- exact: slot -->, of 30,000<!-- exact: all --> buckets.
| a row | `6.2 s`<!-- range: elected-killed 5500..9000 --> |
"""


def objections(page: str, names: dict[str, str]) -> list[str]:
    return [held.objection for held in compare(page_values(page), names)]


def test_values_are_read_with_their_lines_units_and_bounds() -> None:
    slot, every, wait = page_values(PAGE)
    assert (slot.line, slot.printed, slot.name) == (2, "17", "slot")
    assert every.printed == "30000"
    assert (wait.line, wait.printed, wait.unit) == (3, "6.2", "s")
    assert (wait.name, wait.less, wait.bounds) == ("elected", "killed", (5500.0, 9000.0))


def test_a_page_holds_if_each_value_is_the_runs() -> None:
    names = {"slot": "17", "all": "30000", "elected": "17100", "killed": "11000"}
    assert objections(PAGE, names) == ["", "", ""]


def test_each_kind_of_rot_is_seen() -> None:
    names = {"slot": "16", "elected": "11100", "killed": "11000"}
    assert objections(PAGE, names) == [
        "the page says 17, the run 16",
        "the run binds no 'all'",
        "the run's 100 is not 5500 to 9000",
    ]
    late = PAGE.replace("6.2 s", "62 s")
    names = {"slot": "17", "all": "30000", "elected": "17000", "killed": "11000"}
    assert objections(late, names)[2] == "the page's 62000 is not 5500 to 9000"
    assert objections("a b<!-- range: x 1..2 -->", {"x": "1"}) == ["'b' and '1' must be numbers"]


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("\n<!-- exact: slot -->", "line 2: there is no value before"),
        ("6 s<!-- range: elected -->", "line 1: write '<!-- range: NAME LOW..HIGH -->'"),
    ],
)
def test_a_mark_that_cannot_be_read_names_its_line(page: str, words: str) -> None:
    with pytest.raises(PageError, match=words):
        page_values(page)


def test_a_value_may_be_broken_over_two_lines() -> None:
    [wait] = page_values("it took **6.2\ns**<!-- range: took\n5500..9000 -->.")
    assert (wait.line, wait.printed, wait.unit, wait.bounds) == (2, "6.2", "s", (5500.0, 9000.0))


def test_other_comments_are_no_marks() -> None:
    assert page_values("a <!-- clients: begin --> table") == []
