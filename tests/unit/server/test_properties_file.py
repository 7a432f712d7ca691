import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_edu.server.config.properties_file import (
    PropertiesError,
    decode_properties,
    format_properties,
    parse_properties,
)


def values(text: str) -> dict[str, str]:
    return {key: prop.value for key, prop in parse_properties(text).items()}


def test_key_ends_at_equals_colon_or_blank() -> None:
    assert values("a=1\nb: 2\nc 3\nd\n  e  =  5 \n") == {
        "a": "1",
        "b": "2",
        "c": "3",
        "d": "",
        "e": "5 ",
    }


def test_comments_and_blank_lines_are_skipped_and_lines_counted() -> None:
    settings = parse_properties("# one\n\n! two\r\n  # three\rbroker.id=7\n")
    assert settings["broker.id"].value == "7"
    assert settings["broker.id"].line == 5


def test_a_line_goes_on_after_an_odd_number_of_backslashes() -> None:
    settings = parse_properties("log.dirs=/a,\\\n      /b\nnext=x\\\\\nlast=1")
    assert settings["log.dirs"] == ("/a,/b", 1)
    assert settings["next"].value == "x\\"
    assert settings["last"].line == 4


def test_a_comment_cannot_be_continued_but_a_value_may_hold_a_hash() -> None:
    assert values("# c\\\na=1#2\n") == {"a": "1#2"}


def test_escapes() -> None:
    assert values(
        "a\\=b=c\\:d\npath=C:\\\\logs\ntab=\\t.\numlaut=\\u00fc\nface=\\uD83D\\uDE00\nq=\\q"
    ) == {
        "a=b": "c:d",
        "path": "C:\\logs",
        "tab": "\t.",
        "umlaut": "ü",
        "face": "😀",
        "q": "q",
    }


def test_a_broken_unicode_escape_names_its_line() -> None:
    with pytest.raises(PropertiesError, match="four hexadecimal digits") as caught:
        parse_properties("a=1\nb=\\u12x4")
    assert caught.value.line == 2


def test_the_last_of_two_counts() -> None:
    assert parse_properties("a=1\na=2") == {"a": ("2", 2)}


def test_utf8_is_read_as_such_and_everything_else_as_latin_1() -> None:
    assert decode_properties("a=/tmp/日志".encode()) == "a=/tmp/日志"
    assert decode_properties(b"a=\xfc") == "a=ü"


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
        st.text(st.characters(exclude_categories=["Cs"])),
    )
)
def test_what_is_written_is_read_back(settings: dict[str, str]) -> None:
    text = format_properties(settings, "a comment")
    assert text.isascii()
    assert values(text) == settings
