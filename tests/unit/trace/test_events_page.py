"""docs/events.md describes every event as it is now."""

from pathlib import Path

from kafka_edu.trace.events_page import page


def test_the_page_of_events_is_up_to_date() -> None:
    written = (Path(__file__).parents[3] / "docs" / "events.md").read_text(encoding="utf-8")
    assert written == page(), "run: python -m kafka_edu.trace.events_page docs/events.md"
