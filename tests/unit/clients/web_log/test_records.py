"""The lines of a web log as records, one after the other, as the demos send them to a cluster."""

import re
from collections import Counter
from itertools import islice

import pytest

from kafka_edu.clients.web_log.access_log import AccessLine, parse
from kafka_edu.clients.web_log.catalogue import DEFAULT_START_MS, day_rhythm
from kafka_edu.clients.web_log.generator import LogGenerator, LogSettings
from kafka_edu.clients.web_log.records import LogLine, endless_lines, records

LINES = 20_000


@pytest.fixture(scope="module")
def lines() -> list[LogLine]:
    return list(islice(endless_lines(7), LINES))


def test_every_line_can_be_read_and_has_the_status_that_is_said(lines: list[LogLine]) -> None:
    for line in lines:
        found = parse(line.record.value)
        assert isinstance(found, AccessLine), line
        assert found.status == line.status
        assert found.client.encode() == line.record.key


def test_the_counts_are_those_of_a_generator_of_the_same_seed(lines: list[LogLine]) -> None:
    generator = LogGenerator(LogSettings(7, has_bad_lines=False))
    block = generator.next_block(LINES)
    assert len(block) == LINES
    assert generator.truth.bad == 0
    assert generator.truth.by_status == Counter(line.status for line in lines)
    assert list(records(block, generator.text.lines(block))) == [line.record for line in lines]


def test_the_log_goes_on_after_a_block_without_a_gap_or_a_repetition() -> None:
    generator = LogGenerator(LogSettings(3, has_bad_lines=False))
    first, second = generator.next_block(), generator.next_block()
    expected = [*first.arrival_ms.tolist(), *second.arrival_ms.tolist()]
    both = list(islice(endless_lines(3), len(expected)))
    assert [line.record.timestamp_ms for line in both] == expected
    assert expected == sorted(expected)
    assert expected[0] >= DEFAULT_START_MS


def test_another_seed_gives_other_lines() -> None:
    first, again, other = (list(islice(endless_lines(seed), 500)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_log_with_bad_lines_has_them() -> None:
    generator = LogGenerator(LogSettings(7))
    generator.next_block(LINES)
    assert generator.truth.bad > 0


def test_a_line_shows_its_status_where_a_plain_split_finds_it(lines: list[LogLine]) -> None:
    for line in lines[:1000]:
        found = re.search(rb'HTTP/1\.1" (\d{3}) ', line.record.value)
        assert found is not None
        assert int(found[1]) == line.status


@pytest.mark.parametrize(("hour", "busy"), [(20, 1.8), (8, 0.2), (2, 1.0), (14, 1.0)])
def test_the_site_is_busiest_in_the_evening(hour: int, busy: float) -> None:
    assert day_rhythm(DEFAULT_START_MS + hour * 3_600_000) == pytest.approx(busy)
