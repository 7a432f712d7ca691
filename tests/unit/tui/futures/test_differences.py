"""Which words of two pictures differ."""

from tui.futures.differences import Differences, Span, differences


def words(line: str, spans: list[Span]) -> list[str]:
    return [line[begin:end] for begin, end in spans]


def test_only_the_words_that_differ_are_marked() -> None:
    here = ["web-0  ●  ○  ✕  7   81,240", "the same in both"]
    there = ["web-0  ●  ○  ○  6   81,262", "the same in both"]
    found = differences(here, there)
    assert words(here[0], found.here[0]) == ["✕", "7", "81,240"], "columns are places of their own"
    assert words(there[0], found.there[0]) == ["○", "6", "81,262"]
    assert (found.here[1], found.there[1]) == ([], [])
    assert found.places == 3
    assert Differences(found.there, found.here) == differences(there, here)


def test_a_line_that_only_one_picture_has_does_not_make_those_below_differ() -> None:
    here = ["1.2 s b1 elects", "1.3 s b2 fetches", "1.4 s b1 appends"]
    there = ["1.3 s b2 fetches", "1.4 s b1 appends", ""]
    found = differences(here, there)
    assert words(here[0], found.here[0]) == ["1.2 s b1 elects"]
    assert found.here[1:] == [[], []]
    assert found.there == [[], [], []]


def test_lines_that_are_drawn_around_words_are_no_difference() -> None:
    found = differences(["┌ broker 1 ┐", "│ └─▶ leads 3"], ["╭ broker 1 ╮", "├─▶   leads 2"])
    assert found.here == [[], [(12, 13)]]
    assert found.places == 1


def test_bars_are_words() -> None:
    assert differences(["lag ██▌"], ["lag █▌"]).here == [[(4, 7)]]


def test_pictures_of_different_heights() -> None:
    found = differences(["a", "b", "c"], ["a"])
    assert found.here == [[], [(0, 1)], [(0, 1)]]
    assert found.there == [[]]


def test_lines_that_have_little_in_common_differ_as_a_whole() -> None:
    here, there = ["3.6 s sup broker 3 killed"], ["3.7 s b1 ISR of t-0 shrinks"]
    found = differences(here, there)
    assert words(here[0], found.here[0]) == here
    assert words(there[0], found.there[0]) == there


def test_words_that_have_only_moved_do_not_differ() -> None:
    assert differences(["a   b"], ["a b"]).places == 0


def test_words_of_one_sentence_are_one_place() -> None:
    here, there = ["b1 cannot fetch from 2 now at all"], ["b1 cannot reach broker 2 now at all"]
    assert words(here[0], differences(here, there).here[0]) == ["fetch from"]


def test_boxes_side_by_side_are_compared_one_by_one() -> None:
    here, there = ["║ leads 2 ║│ leads 3 │"], ["║ leads 2 ║│ is down │"]
    assert words(here[0], differences(here, there).here[0]) == ["leads 3"]
