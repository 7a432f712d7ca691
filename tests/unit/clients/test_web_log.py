"""The generated access log: the same for the same seed, with true counts, and similar to a
server's.
"""

import itertools
import re
from collections import Counter

import pytest

from kafka_edu.clients.web_log import DEFAULT_START_MS, WebLog, day_rhythm

COMBINED = re.compile(
    r"(?P<host>\S+) - (?P<user>\S+) \[(?P<time>\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000)\] "
    r'"(?P<method>[A-Z]+) (?P<path>\S+) HTTP/1\.1" (?P<status>\d{3}) (?P<size>\d+|-)'
    r' "(?P<referrer>[^"]+)" "(?P<agent>[^"]+)"'
)


@pytest.fixture(scope="module")
def parsed() -> tuple[WebLog, list[dict[str, str]]]:
    log = WebLog(seed=7)
    rows = []
    for line in itertools.islice(log, 10_000):
        match = COMBINED.fullmatch(line.text)
        assert match is not None, line.text
        rows.append(match.groupdict())
    return log, rows


def test_same_seed_same_lines() -> None:
    first, second, other = (
        [line.text for line in itertools.islice(WebLog(seed), 500)] for seed in (1, 1, 2)
    )
    assert first == second
    assert first != other


def test_truth_is_what_a_reader_of_the_lines_finds(
    parsed: tuple[WebLog, list[dict[str, str]]],
) -> None:
    log, rows = parsed
    assert log.truth.lines == len(rows)
    assert log.truth.by_status == Counter(int(row["status"]) for row in rows)
    assert log.truth.by_method == Counter(row["method"] for row in rows)
    assert log.truth.by_path == Counter(row["path"] for row in rows)
    assert log.truth.visitors == {row["host"] for row in rows}
    assert log.truth.bytes_sent == sum(int(row["size"]) for row in rows if row["size"] != "-")
    assert sum(log.truth.errors_by_minute.values()) == sum(
        count for status, count in log.truth.by_status.items() if status >= 500
    )
    assert sum(log.truth.by_minute.values()) == len(rows)


def test_truth_follows_line_by_line() -> None:
    log = WebLog(seed=3)
    for expected, line in enumerate(itertools.islice(log, 50), 1):
        assert log.truth.lines == expected
        assert log.truth.by_status[line.status] >= 1


def test_times_never_run_backward() -> None:
    times = [line.time_ms for line in itertools.islice(WebLog(seed=5), 5_000)]
    assert times == sorted(times)
    assert times[0] >= DEFAULT_START_MS


def test_errors_come_in_bursts() -> None:
    log = WebLog(seed=11)
    for _ in itertools.islice(log, 30_000):
        pass
    errors = log.truth.errors_by_minute
    worst = max(errors.values())
    mean = sum(errors.values()) / len(log.truth.by_minute)
    assert worst > 5 * mean, "one minute in a burst holds many times the errors of a common one"


def test_popular_pages_follow_zipf(parsed: tuple[WebLog, list[dict[str, str]]]) -> None:
    """The page of rank 1 is requested about 2 ** 1.1 times as often as that of rank 2, counting
    only pages.
    """
    log, _ = parsed
    first, second = (log.truth.by_path[path] for path in ("/", "/cart"))
    assert 2 < first / second < 5  # /cart is of rank 3: 3 ** 1.1 = 3.35


@pytest.mark.parametrize(("hour", "busy"), [(20, 1.8), (8, 0.2), (2, 1.0), (14, 1.0)])
def test_day_rhythm(hour: int, busy: float) -> None:
    assert day_rhythm(DEFAULT_START_MS + hour * 3_600_000) == pytest.approx(busy)


def test_sessions_and_agents_are_mixed(parsed: tuple[WebLog, list[dict[str, str]]]) -> None:
    log, rows = parsed
    assert len(log.truth.visitors) > 300
    assert log.truth.sessions >= len(log.truth.visitors)
    agents = {row["agent"] for row in rows}
    assert any("examplebot" in agent for agent in agents)
    assert len(agents) >= 6
