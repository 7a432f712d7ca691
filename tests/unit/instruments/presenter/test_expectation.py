"""The values of bound names in texts."""

from kafka_edu.instruments.presenter.expectation import filled

NAMES = {"rows": "1500", "isr": "(0, 1)"}


def test_a_value_stands_as_it_is_or_with_its_thousands_apart() -> None:
    assert filled("{rows} and {rows:,} of {isr}", NAMES) == "1500 and 1,500 of (0, 1)"


def test_what_is_no_number_or_not_bound_stays_as_it_is() -> None:
    assert filled("{isr:,} {later} {later:,} {{", NAMES) == "(0, 1) {later} {later} {"
