"""The broker's codecs make chapter 01's pictures, and the pictures agree with the book."""

import pytest

from chapters.ch01_protocol.pictures import DRAWINGS, figures

SAID = {
    "header": {"hello_bytes": "18", "hello_key": "18"},
    "versions": {
        "agreed_produce_20": "6",
        "agreed_produce_28": "7",
        "agreed_fetch_20": "8",
        "agreed_fetch_28": "11",
        "agreed_metadata_20": "6",
        "agreed_metadata_28": "9",
        "keys_20": "43",
        "keys_28": "56",
    },
    "batch-bytes": {"batch_header": "61", "record_bytes": "13"},
    "fetch-sessions": {
        "full": "24074",
        "steady": "65",
        "moved_3": "146",
        "forgets_1": "78",
        "a_partition": "24",
    },
}


@pytest.mark.parametrize("name", SAID)
def test_a_picture_binds_what_the_page_says(name: str) -> None:
    assert DRAWINGS[name]().names == SAID[name]


def test_a_batch_shares_its_header_and_old_messages_do_not() -> None:
    names = {name: int(value) for name, value in DRAWINGS["batches"]().names.items()}
    assert names["payload"] < names["one_batch"] < names["old_set"] < names["alone"]
    rest = 99 * names["next_record"]
    assert names["first_record"] + rest <= names["one_batch"] <= names["first_record"] + rest + 99


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compression_helps_a_batch_and_not_a_line(codec: str) -> None:
    names = {name: int(value) for name, value in DRAWINGS["compression"]().names.items()}
    assert names[f"together_{codec}"] < names["together_none"] / 2
    assert names[f"alone_{codec}"] > names["alone_none"]


def test_the_figures_have_the_fields_of_the_books_versions() -> None:
    drawn = {name: figure.source for name, figure in figures().items()}
    assert list(drawn) == [f"figure-6-{number}" for number in range(1, 7)]
    assert "forgotten_topics_data" in drawn["figure-6-5"]
    assert "last_fetched_epoch" not in drawn["figure-6-5"], "that came after version 8"
    assert "transactional_id" in drawn["figure-6-3"]
    assert "record_errors" not in drawn["figure-6-4"]
