"""Lines in Chinese: whole words, names left alone, and every column where it was."""

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color

from tui.glossary import terms
from tui.in_chinese import ChineseFilter, found_in, names_like_terms

BLACK = Color.parse("black")


def translated(line: str, *names: str) -> str:
    segments = ChineseFilter(names).apply([Segment(line)], BLACK)
    return "".join(segment.text for segment in segments)


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("broker 1 is gone", "代理 1 is gone  "),
        ("2 brokers, 6 partitions   x", "2 代理, 6 分区            x"),
        ("broker 1's session ended", "代理 1's 会话 ended     "),
        ("a broker's session, all brokers' sessions", "a 代理的 会话, all 代理的 会话           "),
        ("│ replica  │ b", "│ 副本     │ b"),
        ("╭─ broker 0 ──────╮", "╭─ 代理 0 ────────╮"),
        ("HW 3  LEO 4      next", "HW 3  末端 4     next"),
        ("lag   1", "滞后  1"),
        ("high watermark", "高水位        "),
    ],
)
def test_a_gap_takes_up_what_a_word_is_wider_or_narrower(english: str, chinese: str) -> None:
    assert translated(english) == chinese
    assert cell_len(chinese) == cell_len(english)


@pytest.mark.parametrize(
    "line",
    [
        "broker-0 of /brokers/ids/0",
        "/controller  {brokerid: 1}",
        "replica.lag.time.max.ms and leader-epoch-checkpoint",
        "__consumer_offsets-3  PartitionStateMachine  LeaderAndIsr",
        "leader=1 partition_index broker:9092",
        "Metadata v9  Heartbeat v4",
    ],
)
def test_names_stay_as_they_are(line: str) -> None:
    assert translated(line) == line


def test_a_topic_that_is_called_like_a_term_stays() -> None:
    names = names_like_terms({"session", "web"})
    assert names == {"session"}
    assert translated("topic session, Session", *names) == "主题 session, 会话    "


def test_a_word_over_two_styles_takes_the_first_and_the_others_keep_theirs() -> None:
    red, blue = Style(color="red"), Style(color="blue")
    line = [Segment("part", red), Segment("ition 1", blue), Segment("  x", red)]
    drawn = ChineseFilter().apply(line, BLACK)
    assert [(part.text, part.style) for part in drawn] == [
        ("分区", red), (" 1", blue), ("       x", red),
    ]  # fmt: skip


def test_where_there_is_no_room_for_the_short_word_either_the_cell_ends_in_an_ellipsis() -> None:
    assert translated("│a lag│") == "│a …  │"


@pytest.mark.parametrize("term", terms(), ids=lambda term: term.english)
def test_each_term_is_translated_and_the_line_keeps_its_width(term: tuple[str, ...]) -> None:
    for line in (f" a {term[0]} of it      next", f"│{term[0]}      │", term[0] + " " * 12):
        chinese = translated(line)
        assert cell_len(chinese) == cell_len(line)
        assert chinese.endswith(line[-1])
        if term[0] != term[1]:
            assert not list(found_in(chinese))
