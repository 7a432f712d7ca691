"""Reading access logs: the reason for each kind of bad line, windows, percentiles and sessions."""

import pytest

from kafka_edu.clients.web_log.access_log import (
    AccessLine,
    Quarantined,
    Reason,
    Session,
    nearest_rank,
    parse,
    read_time,
    sessions,
    window_start,
)

START = b'10.4.7.9 - ann [01/Aug/2018:20:15:07 +0000] "GET /cart HTTP/1.1"'
GOOD = START + b' 200 512 "-" "curl/7.61" 1834'
TIME_S = 1_533_154_507


def test_a_good_line() -> None:
    assert parse(GOOD) == AccessLine(
        "10.4.7.9", "ann", TIME_S, "GET", "/cart", "HTTP/1.1", 200, 512, "", "curl/7.61", 1834
    )


def test_dashes_and_escaped_quotes() -> None:
    line = (
        rb'::1 - - [01/Aug/2018:22:15:07 +0200] "POST /a?q=\"x\" HTTP/2" 304 - "http://a/ b"'
        rb' "say \"hi\" \\" 0'
    )
    found = parse(line)
    assert isinstance(found, AccessLine)
    assert (found.user, found.size, found.time_s) == ("", 0, TIME_S)
    assert (found.path, found.protocol) == (r"/a?q=\"x\"", "HTTP/2")
    assert found.agent == r"say \"hi\" \\"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", Reason.EMPTY),
        (GOOD.replace(b"curl", b"c\xfcrl"), Reason.NOT_TEXT),
        (GOOD.replace(b"curl", b"c\turl"), Reason.NOT_TEXT),
        (GOOD.replace(b"Aug", b"Okt"), Reason.BAD_TIME),
        (GOOD.replace(b"01/Aug", b"31/Feb"), Reason.BAD_TIME),
        (GOOD.replace(b"20:15", b"25:15"), Reason.BAD_TIME),
        (GOOD.replace(b"+0000", b"+9900"), Reason.BAD_TIME),
        (GOOD.replace(b"10.4.7.9", b"10.4.7.9, 10.1.1.1"), Reason.BAD_TIME),
        (b"Traceback (most recent call last):", Reason.BAD_TIME),
        (GOOD.replace(b"GET /cart HTTP/1.1", rb"\x16\x03\x01"), Reason.BAD_REQUEST),
        (GOOD.replace(b"GET /cart HTTP/1.1", b"-"), Reason.BAD_REQUEST),
        (GOOD.replace(b"GET /cart", b"GET /my cart"), Reason.BAD_REQUEST),
        (GOOD.replace(b" 200 ", b" 999 "), Reason.BAD_STATUS),
        (GOOD.replace(b" 200 ", b" - "), Reason.BAD_STATUS),
        (GOOD.replace(b" 200 ", b"  200 "), Reason.BAD_STATUS),
        (GOOD.replace(b" 512 ", b" -1 "), Reason.BAD_SIZE),
        (GOOD.replace(b'"-"', b"-"), Reason.BAD_QUOTES),
        (GOOD.replace(b"curl", b'c"url'), Reason.BAD_QUOTES),
        (GOOD.replace(b"1834", b"-"), Reason.BAD_REQUEST_TIME),
        (GOOD.replace(b"1834", b"0.0018"), Reason.BAD_REQUEST_TIME),
        (GOOD + b" 7", Reason.EXTRA),
        (GOOD + b" ", Reason.EXTRA),
    ],
)
def test_each_bad_line_has_its_reason(line: bytes, reason: Reason) -> None:
    assert parse(line) == Quarantined(line, reason)


def test_a_line_that_is_cut_anywhere_before_its_last_field_is_never_good() -> None:
    last_field = len(GOOD) - len(b"1834")
    found = {parse(GOOD[:end]) for end in range(1, last_field + 1)}
    assert all(isinstance(one, Quarantined) for one in found)
    reasons = {one.reason for one in found if isinstance(one, Quarantined)}
    # A cut can also leave a field that is whole but wrong: a status of one digit.
    assert reasons == {Reason.CUT, Reason.BAD_STATUS}


def test_times_have_zones() -> None:
    assert read_time("01/Aug/2018:20:15:07 +0000") == TIME_S
    assert read_time("01/Aug/2018:16:45:07 -0330") == TIME_S
    assert read_time("01/Aug/2018:20:15:60 +0000") is None


def test_windows_hold_their_begin_and_not_their_end() -> None:
    assert [window_start(time_s, 60) for time_s in (0, 59, 60, TIME_S)] == [
        0,
        0,
        60,
        TIME_S - 7,
    ]


def test_percentiles_are_values_that_are_there() -> None:
    assert nearest_rank(range(1, 201), 99) == 198
    assert nearest_rank(reversed(range(1, 102)), 99) == 100
    assert nearest_rank([7], 99) == 7
    assert nearest_rank([3, 1, 2], 50) == 2
    assert nearest_rank([3, 1], 0) == 1
    with pytest.raises(ValueError, match="no values"):
        nearest_rank([], 99)


def test_a_pause_of_exactly_the_gap_does_not_end_a_session() -> None:
    assert sessions([100, 0, 30, 61], 30) == [
        Session(0, 30, 2),
        Session(61, 61, 1),
        Session(100, 100, 1),
    ]
    assert sessions([60, 0, 30], 30) == [Session(0, 60, 3)]
    assert sessions([], 30) == []
