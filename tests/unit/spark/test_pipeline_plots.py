"""The files of a pipeline's plots are those of its report."""

from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is missing: ./kafka-edu setup spark")

from kafka_edu.cli.pipeline.plots import NAMES, PlotData, draw_plots, write_pngs
from kafka_edu.spark.pipeline_view import Batch, WindowRow

WINDOWS = [WindowRow(60, 10, 1, 900), WindowRow(120, 20, 0, 700)]
ALL = PlotData(
    windows=WINDOWS,
    true_windows=WINDOWS,
    by_status={200: 29, 500: 1},
    batches=[Batch("windows", number, 15, 0.5, 30.0) for number in range(2)],
    sessions={1: 4, 13: 2},
)


def test_a_plot_that_an_earlier_run_left_is_removed(tmp_path: Path) -> None:
    plots = draw_plots(ALL)
    assert tuple(plot.name for plot in plots) == NAMES
    (tmp_path / "mine.png").write_bytes(b"of the user")
    write_pngs(plots, tmp_path)
    again = write_pngs(draw_plots(ALL._replace(batches=[])), tmp_path)
    assert [file.stem for file in again] == list(NAMES[:4])
    assert {file.stem for file in tmp_path.iterdir()} == {*NAMES[:4], "mine"}
