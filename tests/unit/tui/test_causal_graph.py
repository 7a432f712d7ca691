"""The lanes and arrows of the time line, drawn without a terminal."""

from tui.view_model.causal_graph import ABOVE, GraphRow, graph


def drawn(rows: list[GraphRow], lanes: int = 3, width: int = 4) -> list[str]:
    return ["".join(run.glyphs for run in row).rstrip() for row in graph(rows, lanes, width)]


def test_an_arrow_goes_down_beside_its_cause_and_turns_to_its_effect() -> None:
    rows = [
        GraphRow(0, "✕"),
        GraphRow(2, "•"),
        GraphRow(1, "✕", cause=0, cause_lane=0),
        GraphRow(2, "♛", cause=2, cause_lane=1),
    ]
    assert drawn(rows) == [
        "✕┐  ┊   ┊",
        "┊│  ┊   •",
        "┊└─▶✕┐  ┊",
        "┊   ┊└─▶♛",
    ]


def test_one_cause_with_effects_on_both_sides_and_in_its_own_lane() -> None:
    rows = [
        GraphRow(1, "♛"),
        GraphRow(2, "●", cause=0, cause_lane=1),
        GraphRow(0, "○", cause=0, cause_lane=1),
        GraphRow(1, "•", cause=0, cause_lane=1),
    ]
    assert drawn(rows) == [
        "┊   ♛┐  ┊",
        "┊   │├─▶●",
        "○◀──┼┘  ┊",
        "┊   •   ┊",
    ]


def test_an_arrow_from_above_the_window_comes_down_into_it() -> None:
    rows = [GraphRow(2, "•"), GraphRow(2, "●", cause=ABOVE, cause_lane=0)]
    assert drawn(rows) == [
        "┊│  ┊   •",
        "┊└─────▶●",
    ]


def test_two_threads_of_one_lane_stay_apart() -> None:
    rows = [
        GraphRow(0, "a"),
        GraphRow(0, "b"),
        GraphRow(1, "A", cause=0, cause_lane=0, thread=1),
        GraphRow(1, "B", cause=1, cause_lane=0, thread=2),
    ]
    assert drawn(rows, lanes=2) == [
        "a─┐ ┊",
        "b┐│ ┊",
        "┊│└▶A",
        "┊└─▶B",
    ]
