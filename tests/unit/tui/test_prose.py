"""Names that are cut to fit into a column."""

import pytest

from tui.widgets.prose import fitted_name, fitted_partition


def test_fitted_name_ends_with_an_ellipsis_only_if_it_is_cut() -> None:
    assert fitted_name("orders", 6) == "orders"
    assert fitted_name("orders-of-today", 6) == "order…"


@pytest.mark.parametrize(
    ("topic", "partition", "shown"),
    [("orders", 3, "orders-3"), ("orders-of-today", 3, "order…-3"), ("orders", 12, "orde…-12")],
)
def test_fitted_partition_keeps_the_number(topic: str, partition: int, shown: str) -> None:
    assert fitted_partition(topic, partition, 8) == shown
