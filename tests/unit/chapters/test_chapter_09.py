"""Chapter 09's pictures agree with the book and with Kafka. The broker's own log classes compute
them.
"""

from pathlib import Path
from types import SimpleNamespace

import pytest

from chapters.ch09_log_storage import jobs
from chapters.ch09_log_storage.jobs import aside, lose, repair
from chapters.ch09_log_storage.pictures import (
    BOOK_BASES,
    BOOK_OFFSET,
    BOOK_TABLE,
    DRAWINGS,
    RETENTION,
    book_log,
    compacted,
    figures,
    head_and_tail,
    kept,
    recovery,
    rolled,
    sparse_log,
    tombstones,
    walked,
    zero_copy,
)
from chapters.chapter import JobPlace

SAID = {
    "look-up": {"segment": "368769", "relative": "56545", "looks": "10", "walked": "6"},
    "walk": {"from": "80", "steps": "35"},
    "times": {"time_entry": "80", "time_found": "115"},
    "roll": {"closed_at": "892", "reasons": "4"},
    "retention": {"go_by_time": "4", "go_by_size": "3", "go_by_start": "2", "left_bytes": "1530"},
    "copies": {"sent_bytes": "1048576", "read_bytes": "126"},
    "recovery": {"cut_bytes": "70", "read_again": "2"},
    "compaction": {"left": "6", "offsets": "3, 4, 6, 8, 9, 10"},
    "dirty": {"ratio": "0.89"},
    "tombstone": {"tombstone_until": "26"},
}


@pytest.mark.parametrize("name", SAID)
def test_a_picture_binds_what_the_page_says(name: str) -> None:
    names = DRAWINGS[name]().names
    assert {key: names[key] for key in SAID[name]} == SAID[name]


def test_the_books_folder_and_its_look_up() -> None:
    assert tuple(segment.base_offset for segment in book_log().segments) == BOOK_BASES
    one = walked(book_log(), BOOK_OFFSET)
    assert one.entry <= BOOK_OFFSET <= one.found[1]
    assert one.found[0] <= BOOK_OFFSET
    assert 2**one.compared > one.entries, "so many looks are enough"


def test_every_offset_is_found_from_the_sparse_index() -> None:
    for offset in range(sparse_log().log_end_offset):
        assert walked(sparse_log(), offset).found == (offset, offset)


def test_the_four_reasons_to_roll_in_the_order_of_the_book() -> None:
    assert [one.reason for one in rolled()] == ["size", "time", "index full", "offset range"]


def test_what_retention_leaves_is_not_less_than_its_limit() -> None:
    one = kept("by size")
    sizes = [size for _, size, _ in one.segments]
    left = sum(sizes[len(one.reasons) :])
    limit = RETENTION["by size"]["retention_bytes"]
    assert isinstance(limit, int)
    assert left - sizes[len(one.reasons)] < limit <= left


def test_the_broker_reads_headers_only() -> None:
    one = zero_copy()
    assert one.region == one.asked
    assert one.copied < 500


def test_recovery_reads_from_the_recovery_point_on_and_keeps_all_whole_batches() -> None:
    one = recovery()
    assert one.end_after == one.end_before
    assert one.read_again == one.all_bases[2:]


def test_compaction_keeps_the_last_of_each_key_with_its_offset() -> None:
    before, after = compacted()
    assert [(key, value) for _, key, value in before] == list(BOOK_TABLE)
    last = {key: (offset, key, value) for offset, key, value in before}
    assert after == sorted(last.values())


def test_a_pass_begins_where_the_one_before_ended() -> None:
    first, second = head_and_tail()
    assert first.clean_bytes == 0
    assert second.first_dirty == first.first_uncleanable
    assert second.clean_bytes > 0


def test_a_tombstone_goes_at_last_and_its_key_never_comes_back() -> None:
    looks = tombstones()
    assert any(value is None for _, _, value in looks[0].records)
    assert all(key != "k1" for _, key, _ in looks[-1].records)
    assert all(value is None for one in looks for _, key, value in one.records if key == "k1")


def test_the_jobs_take_a_log_dir_away_and_put_it_back(tmp_path: Path) -> None:
    log_dir = tmp_path / "data"
    log_dir.mkdir()
    (log_dir / "meta.properties").write_text("broker.id=2\n")
    for _ in range(2):
        lose(log_dir)
        assert log_dir.is_file()
        assert aside(log_dir).is_dir()
    for _ in range(2):
        repair(log_dir)
        assert (log_dir / "meta.properties").read_text() == "broker.id=2\n"
        assert not aside(log_dir).exists()


def test_broker_2_may_start_when_its_log_dir_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_dir = tmp_path / "data"
    log_dir.mkdir()
    there: list[bool] = []
    monkeypatch.setattr(jobs, "attach", lambda _: SimpleNamespace(log_dirs=lambda _: [log_dir]))
    place = JobPlace(
        "",
        tmp_path,
        lambda _: there.append(log_dir.is_dir()),
        lambda: False,
        cluster="c",
        run=lambda _: None,
    )
    with jobs.open_jobs(place) as run:
        run("lose-dir")
        run("repair")
    assert there == [False, True], "the presenter starts the broker when the job has begun"


def test_figures_are_not_empty() -> None:
    assert all(len(figure.source) > 300 for figure in figures().values())
