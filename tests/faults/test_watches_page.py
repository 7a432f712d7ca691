"""The figures in docs/watches.md are those measured with ten brokers and a thousand partitions."""

import re
from pathlib import Path

import pytest

from kafka_edu.sim.watches_exhibit import measure

pytestmark = pytest.mark.faults


def test_the_page_s_table_is_what_is_measured() -> None:
    """The table in docs/watches.md has exactly the figures that are measured.

    Each row has an event, then who watches, then the fields of the class Cost in their order.
    """
    page = (Path(__file__).parents[2] / "docs" / "watches.md").read_text(encoding="utf-8")
    exhibit = measure(10, 1_000)
    in_words = (
        f"watches set: **{exhibit.watches_herd:,}** where everybody watches,"
        f" **{exhibit.watches_ours}** with a controller"
    )
    assert in_words in " ".join(page.split())
    rows = re.findall(
        r"^\|([^|]*)\| (?:everybody|controller|the next one) ((?:\| [\d.,]+ ){7})\|$", page, re.M
    )
    told = [
        tuple(float(cell.replace(",", "")) for cell in cells.split("|")[1:]) for _, cells in rows
    ]
    measured = [cost for both in exhibit.costs.values() for cost in both] + [
        exhibit.controller_dies
    ]
    assert told == measured
    assert [name.strip() for name, _ in rows if name.strip()] == [
        *exhibit.costs,
        "the controller dies",
    ]
