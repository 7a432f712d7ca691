"""The logs of exercise 15-5: each learner gets a sensible log, and its tables are enough to find
the answers.
"""

import pytest

from exercises.ch15_exactly_once.ex05_predict.material import logs, make

SEEDS = range(40)
Row = tuple[int, int, str, str]


def rows(table: str) -> list[Row]:
    """Return (first offset, last offset, producer, what) of each line of a table."""
    found = []
    for line in table.split("\n")[2:]:
        offsets, producer, what = (part.strip() for part in line.strip("|").split("|"))
        first, _, last = offsets.partition(" to ")
        found.append((int(first), int(last or first), producer, what.split()[0]))
    return found


def ends(table: list[Row], mark: int) -> list[tuple[int, int, str]]:
    """Return (first offset, offset of the marker, how it ends) of each transaction. A marker at or
    above `mark` does not count: such a transaction ends nowhere.
    """
    done, begun = [], dict[str, int]()
    for first, _, producer, what in table:
        if what == "records" and producer != "-":
            begun.setdefault(producer, first)
        elif what != "records" and first < mark and producer in begun:
            done.append((begun.pop(producer), first, what))
    return [*done, *((first, 1 << 40, "open") for first in begun.values())]


def stable(table: list[Row], mark: int) -> int:
    return min((first for first, _, how in ends(table, mark) if how == "open"), default=mark)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_tables_are_enough_to_find_the_offsets(seed: int) -> None:
    made = logs(seed)
    answers = {name: right.answer for name, right in made.answers.items()}
    first, second = (rows(table) for table in made.tables)
    mark, end = first[-1][1] + 1, second[-1][1] + 1
    low = int(made.text.partition(f"ends at {end}. The high watermark is ")[2].partition(",")[0])
    assert answers["lso"] == stable(first, mark) < mark
    assert answers["behind"] == stable(second, low) < low
    assert stable(second, end) == end
    records = sum(last - begin + 1 for begin, last, _, what in first if what == "records")
    assert answers["uncommitted"] == records
    fetched = made.text.partition("with the offsets ")[2].partition("?")[0]
    start, last = map(int, fetched.split(" to "))
    named = [one for one in ends(second, end) if one[2] == "abort" and one[0] <= last]
    assert answers["named"] == sum(marker >= start for _, marker, _ in named)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_learner_has_all_questions(seed: int) -> None:
    made = logs(seed)
    answers = {name: right.answer for name, right in made.answers.items()}
    assert list(answers) == list(logs(0).answers)
    assert 0 < answers["plain"] <= answers["committed"] < answers["uncommitted"]
    assert answers["committed"] <= answers["after_abort"] < answers["uncommitted"]
    assert answers["last"] < answers["lso"]
    assert answers["named"] >= 1
    assert all(f"`{name}`" in made.text for name in answers)
    assert make(seed) == {"questions.md": made.text}


def test_learners_have_different_logs() -> None:
    assert len({logs(seed).text for seed in SEEDS}) == len(SEEDS)


def test_the_same_seed_has_the_same_logs() -> None:
    before = logs(3)
    logs.cache_clear()
    assert logs(3) == before
