"""The contenders and the lines of `bench spark-source`, without Spark."""

import re
from pathlib import Path

import pytest

from benchmarks.spark_source import LINE_BYTES, PAIRS, STATUS, contenders, lines


def test_every_pair_is_of_two_contenders_that_differ_in_nothing_but_what_their_names_say() -> None:
    by_name = {one.name: one for one in contenders("127.0.0.1:1", Path("lines"))}
    for ours, (theirs, _) in PAIRS.items():
        assert by_name[ours].format == "kafka-edu"
        assert by_name[theirs].format == "kafka"
        checks = {by_name[name].options.get("kafka.check.crcs") for name in (ours, theirs)}
        assert len(checks) == 1, "one side checks checksums, the other does not"


def test_lines_have_the_same_length_and_the_same_text_each_time() -> None:
    pytest.importorskip("numpy", reason="numpy is not installed: ./kafka-edu setup spark")
    found = list(lines(500))
    assert len(found) == 500
    assert {len(line) for line in found} == {LINE_BYTES}
    assert found == list(lines(500))
    assert all(re.match(STATUS.encode(), line) for line in found)
