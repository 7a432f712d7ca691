"""The futures of a simulated run are found in the folder of its cluster."""

from pathlib import Path

from kafka_edu.supervisor.cluster_folder import ClusterFolder


def test_futures_are_found_by_their_numbers_and_nothing_else_is(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path)
    assert folder.futures() == {}
    for number in (10, 2, 1):
        folder.future(number).write_text("")
    for other in ("future-x.sim", "future-.sim", "future-3.txt", "past-4.sim"):
        (tmp_path / other).write_text("")
    assert list(folder.futures()) == [1, 2, 10]
    assert [path.name for path in folder.futures().values()] == [
        "future-1.sim",
        "future-2.sim",
        "future-10.sim",
    ]


def test_a_folder_that_is_missing_has_no_futures(tmp_path: Path) -> None:
    assert ClusterFolder(tmp_path / "none").futures() == {}
