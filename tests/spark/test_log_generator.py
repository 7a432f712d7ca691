"""The generated web log: the same seed gives the same bytes. The counts that the generator reports
(its truth) are those that a simple reader of the lines finds.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_edu.cli.generate_log_command import generate_log
from kafka_edu.clients.web_log.access_log import (
    AccessLine,
    Quarantined,
    nearest_rank,
    parse,
    sessions,
    window_start,
)
from kafka_edu.clients.web_log.bad_lines import MAKERS
from kafka_edu.clients.web_log.catalogue import AGENTS, Visitor
from kafka_edu.clients.web_log.generator import LogGenerator, LogSettings
from kafka_edu.clients.web_log.small_logs import for_lines

pytestmark = pytest.mark.spark

LINES = 60_000
#: SHA-256 of the first 20,000 lines of seed 7, on every machine and for every version of numpy. A
#: change of the generator changes it too.
GOLDEN = "2554acd4a8d4fd2105c87b500e9fc3ed57fb9c82c58fa88f589f2a6e2411e706"
#: A busy hour, so that few lines cover the time after which a session is too late.
LINES_A_SECOND = 25.0


def generator(seed: int, lines_a_second: float = LINES_A_SECOND) -> LogGenerator:
    return LogGenerator(LogSettings(seed, lines_a_second=lines_a_second))


def written(made: LogGenerator, lines: int) -> bytes:
    text = b""
    while made.truth.lines < lines:
        text += made.text.lines(made.next_block(lines - made.truth.lines))
    return text


@pytest.fixture(scope="module", params=[(3, LINES), (8, LINES), (1, 5_000)])
def log(request: pytest.FixtureRequest) -> tuple[LogGenerator, list[bytes]]:
    seed, lines = request.param
    settings = LogSettings(seed, lines_a_second=LINES_A_SECOND)
    made = LogGenerator(settings if lines == LINES else for_lines(settings, lines))
    return made, written(made, lines).split(b"\n")[:-1]


def good(lines: list[bytes]) -> Iterator[AccessLine]:
    return (one for one in map(parse, lines) if isinstance(one, AccessLine))


def test_the_same_seed_gives_the_same_bytes() -> None:
    text = written(generator(7, 200.0), 20_000)
    assert written(generator(7, 200.0), 20_000) == text
    assert written(generator(8, 200.0), 20_000) != text
    assert hashlib.sha256(text).hexdigest() == GOLDEN


def test_bad_lines_are_as_many_as_the_truth_says(
    log: tuple[LogGenerator, list[bytes]],
) -> None:
    made, lines = log
    reasons = Counter(one.reason.value for one in map(parse, lines) if isinstance(one, Quarantined))
    assert len(lines) == made.truth.lines
    assert dict(reasons) == made.truth.by_reason
    assert reasons.total() == made.truth.bad
    if len(lines) == LINES:
        assert set(reasons) == {reason.value for reason, _ in MAKERS}


def test_counts_are_those_of_a_plain_reader(log: tuple[LogGenerator, list[bytes]]) -> None:
    made, lines = log
    found = list(good(lines))
    assert Counter(one.status for one in found) == made.truth.by_status
    assert Counter(one.path for one in found) == made.truth.by_path
    assert sum(one.size for one in found) == made.truth.bytes_sent
    visitor = {one.name: one.visitor for one in AGENTS}
    assert Counter(visitor[one.agent].name.lower() for one in found) == made.truth.by_visitor
    counts = list(made.truth.by_path.values())
    assert counts == sorted(counts, reverse=True)


def test_windows_and_late_lines_are_those_of_a_plain_reader(
    log: tuple[LogGenerator, list[bytes]],
) -> None:
    made, lines = log
    latest_s = late = 0
    on_time, everything = (
        defaultdict[int, list[AccessLine]](list),
        defaultdict[int, list[AccessLine]](list),
    )
    too_late = Counter[int]()
    for line in good(lines):
        window = window_start(line.time_s, 60)
        everything[window].append(line)
        if latest_s - line.time_s > made.settings.watermark_s:
            too_late[window] += 1
        else:
            on_time[window].append(line)
            late += line.time_s < latest_s
        latest_s = max(latest_s, line.time_s)
    truth = made.truth
    assert (truth.late, truth.too_late) == (late, too_late.total())
    assert late > 0
    assert too_late.total() > 0
    assert truth.too_late_by_window == too_late
    assert truth.good == sum(one.lines for one in truth.windows.values()) + truth.too_late
    for windows, expected in ((truth.windows, on_time), (truth.windows_of_all, everything)):
        assert list(windows) == sorted(expected)
        for begin_s, window_lines in expected.items():
            assert windows[begin_s] == (
                len(window_lines),
                sum(line.status >= 500 for line in window_lines),
                nearest_rank([line.duration_us for line in window_lines], 99),
            )


def test_no_line_is_nearly_too_late(log: tuple[LogGenerator, list[bytes]]) -> None:
    """Each line is clearly in time or clearly too late. So a job that moves its watermark only in
    steps gets the same answer.
    """
    made, lines = log
    latest_s = 0
    behind_s = set()
    for line in good(lines):
        latest_s = max(latest_s, line.time_s)
        behind_s.add(latest_s - line.time_s)
    watermark_s = made.settings.watermark_s
    assert not [one for one in behind_s if watermark_s // 2 < one < 2 * watermark_s + 300]


@pytest.mark.parametrize("lines", [1_000, 3_000, 20_000, 100_000])
def test_a_small_log_has_lines_that_are_too_late(lines: int) -> None:
    """Even a small log has lines that are too late. So the first run of a newcomer, which has few
    lines, also shows lines that are in quarantine for this reason.
    """
    for seed in range(1, 5):
        made = LogGenerator(for_lines(LogSettings(seed, lines_a_second=LINES_A_SECOND), lines))
        written(made, lines)
        assert 0 < made.truth.too_late < lines // 3
        assert made.truth.late > 0


def test_only_small_logs_are_fitted_to_their_size() -> None:
    large = LogSettings(1, lines_a_second=LINES_A_SECOND)
    assert for_lines(large, 100_000) == large
    small = for_lines(large, 5_000)
    assert small.lines_a_second < large.lines_a_second
    assert small.too_late_per_mille > large.too_late_per_mille
    assert for_lines(large, 5_000, keeps_pace=True, keeps_share=True) == large
    assert for_lines(large, 1).problem() == ""


def test_sessions_are_those_of_a_plain_reader(log: tuple[LogGenerator, list[bytes]]) -> None:
    made, lines = log
    times = defaultdict[str, list[int]](list)
    for line in good(lines):
        times[line.client].append(line.time_s)
    found = [one for of_client in times.values() for one in sessions(of_client, 300)]
    assert len(found) == made.truth.sessions
    assert Counter(one.lines for one in found) == made.truth.lines_by_session
    assert made.truth.sessions_on_time < made.truth.sessions


def test_clients_come_again() -> None:
    """The time between two sessions of one client is always long enough, so that they do not count
    as one session.
    """
    made = generator(5, 2.0)
    times = defaultdict[str, list[int]](list)
    for line in good(written(made, 200_000).split(b"\n")[:-1]):
        times[line.client].append(line.time_s)
    found = [sessions(of_client, 300) for of_client in times.values()]
    assert sum(map(len, found)) == made.truth.sessions
    assert sum(map(len, found)) > 1.5 * len(found)


def test_windows_that_are_closed_early_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = generator(4)
    written(expected, 150_000)
    monkeypatch.setattr("kafka_edu.clients.web_log.truth.HELD_LINES", 10_000)
    made = generator(4)
    written(made, 150_000)
    assert made.truth.windows == expected.truth.windows
    assert made.truth.windows_of_all == expected.truth.windows_of_all
    # Held are only the lines of windows to which lines can still come.
    assert made.truth.windows_held() < expected.truth.windows_held() / 2


def test_a_burst_breaks_a_part_of_the_shop() -> None:
    made = generator(7, 200.0)
    found = [parse(one) for one in written(made, 100_000).split(b"\n")[:-1]]
    burst = made.bursts[0]
    hit = [
        one
        for one in found
        if isinstance(one, AccessLine)
        and one.path.startswith(burst.prefix)
        and burst.start_ms < one.time_s * 1000 < burst.end_ms - 1000
    ]
    assert len(hit) > 50
    broken = [one for one in hit if one.status == burst.status]
    assert 0.4 < len(broken) / len(hit) < 0.8
    assert min(one.duration_us for one in broken) > 1_000_000


def test_the_evening_is_busier_than_the_morning() -> None:
    made = LogGenerator(LogSettings(2, lines_a_second=3.0))
    written(made, 3 * 86_400)
    by_hour = Counter[int]()
    for begin_s, window in made.truth.windows_of_all.items():
        by_hour[begin_s // 3600 % 24] += window.lines
    assert by_hour[20] > 4 * by_hour[8]


def test_settings_that_contradict_each_other_are_refused() -> None:
    assert LogSettings(1).problem() == ""
    assert "choose at least 180 s" in LogSettings(1, gap_s=60).problem()
    assert "whole minute" in LogSettings(1, start_ms=1).problem()
    assert "lines a second" in LogSettings(1, lines_a_second=0).problem()


def test_the_command_writes_lines_and_their_truth(tmp_path: Path) -> None:
    out, truth, report = (tmp_path / name for name in ("web.log", "truth.json", "report.json"))
    run = CliRunner().invoke(
        generate_log,
        f"--lines 5000 --seed 7 --output {out} --truth {truth} --json {report}".split(),
    )
    assert run.exit_code == 0, run.output
    assert "5,000 lines to" in run.output
    lines = out.read_bytes().split(b"\n")
    assert len(lines) == 5_001
    document = json.loads(truth.read_text())
    found = Counter(str(one.status) for one in good(lines))
    assert document["by_status"] == found
    assert document["lines"] == 5_000
    assert document["settings"]["seed"] == 7
    assert json.loads(report.read_text())["figures"]["lines"] == 5_000
    to_stdout = CliRunner().invoke(
        generate_log, ["--lines", "5000", "--seed", "7", "--output", "-"]
    )
    assert to_stdout.stdout_bytes == out.read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "say where to write to"),
        ("--output a --topic b", "say where to write to"),
        ("--topic b", "--topic needs --bootstrap-server"),
        ("--output {tmp}/no/where", "{tmp}/no/where: No such file"),
        ("--output /dev/full", "No space left on device"),
        ("--topic b --bootstrap-server 127.0.0.1:1", "no broker answers at 127.0.0.1:1"),
        ("--topic b --bootstrap-server nohost", "Invalid url in bootstrap.servers: nohost. An"),
        ("--output {tmp}/a --start now", "is not a time"),
        ("--output {tmp}/a --gap 10", "choose at least 180 s"),
    ],
)
def test_a_mistake_is_one_line(
    tmp_path: Path, options: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka_edu.spark.log_topic.ANSWER_S", 0.2)
    run = CliRunner().invoke(generate_log, options.format(tmp=tmp_path).split())
    assert run.exit_code != 0
    assert message.format(tmp=tmp_path) in run.output
    assert "Traceback" not in run.output


def test_every_kind_of_visitor_has_an_agent() -> None:
    assert {one.visitor for one in AGENTS} == set(Visitor)
