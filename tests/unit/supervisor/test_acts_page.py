"""docs/acts.md is made from the table of acts."""

from pathlib import Path

from kafka_edu.supervisor.act_table import ACTS
from kafka_edu.supervisor.acts_page import page


def test_the_page_is_the_one_that_the_table_makes() -> None:
    written = (Path(__file__).resolve().parents[3] / "docs" / "acts.md").read_text(encoding="utf-8")
    assert written == page(), "run: python -m kafka_edu.supervisor.acts_page docs/acts.md"
    for act in ACTS.values():
        assert f"- `{act.name}" in written
        assert f"{act.name} BROKER" in written or "broker" not in {*act.parameters}
