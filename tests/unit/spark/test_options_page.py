"""docs/spark-options.md describes every option as it is now."""

from pathlib import Path

from kafka_edu.spark.options_page import page


def test_the_page_of_options_is_up_to_date() -> None:
    written = (Path(__file__).parents[3] / "docs" / "spark-options.md").read_text(encoding="utf-8")
    assert written == page(), "run: python -m kafka_edu.spark.options_page docs/spark-options.md"
