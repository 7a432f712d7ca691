"""Options as joptsimple reads them (without abbreviations), and its words for errors.

tests/interop compares them with the Java tools.
"""

import pytest

from kafka_edu.tools.options import (
    InvalidPropertiesError,
    NumberError,
    Option,
    OptionError,
    OptionParser,
    Takes,
    UsageError,
    check_invalid,
    check_required,
    java_integer,
    java_long,
    parse_key_values,
)
from kafka_edu.tools.usage import WIDTH, usage


class Parsed:
    def __init__(self, *words: str) -> None:
        parser = OptionParser()
        self.topic = parser.text("topic", "The topic.", "topic")
        self.count = parser.integer("partitions", "How many.", default=7)
        self.force = parser.flag("force", "Ask nothing.")
        self.codec = parser.text("codec", "The codec.", takes=Takes.OPTIONAL)
        self.timeout = parser.long("timeout", "In ms.", takes=Takes.OPTIONAL)
        self.delete = parser.text("delete", "Keys.", separator=",")
        self.verbose = parser.flag("verbose", "More.", available_if="force")
        self.quiet = parser.flag("quiet", "Less.", available_unless=("verbose",))
        self.parser = parser
        self.given = parser.parse(words)


@pytest.mark.parametrize(
    "words",
    [
        ("--topic", "a"),
        ("--topic=a",),
        ("-topic", "a"),
        ("-topic=a",),
        ("ignored", "--topic", "a"),
        ("--topic=", "a"),
    ],
)
def test_an_option_is_written_in_many_ways(words: tuple[str, ...]) -> None:
    parsed = Parsed(*words)
    assert parsed.given.one(parsed.topic) == "a"


def test_a_required_argument_is_the_next_word_whatever_it_looks_like() -> None:
    parsed = Parsed("--topic", "--force")
    assert parsed.given.one(parsed.topic) == "--force"
    assert not parsed.given.has(parsed.force)


def test_an_optional_argument_is_no_option() -> None:
    parsed = Parsed("--codec", "--force", "--timeout", "-5")
    assert parsed.given.has(parsed.codec)
    assert parsed.given.value(parsed.codec) is None
    assert parsed.given.has(parsed.force)
    assert parsed.given.value(parsed.timeout) == -5
    last = Parsed("--codec")
    assert last.given.has(last.codec)


def test_defaults_several_values_and_separators() -> None:
    parsed = Parsed("--delete", "a,b", "--delete", "c")
    assert parsed.given.one(parsed.count) == 7
    assert parsed.given.values(parsed.delete) == ["a", "b", "c"]
    assert parsed.given.values(parsed.topic) == []
    assert parsed.given.order == ["delete", "delete"]


@pytest.mark.parametrize(
    ("words", "kind", "says"),
    [
        (("--top", "a"), "UnrecognizedOption", "top is not a recognized option"),
        (("--foo=bar",), "UnrecognizedOption", "foo is not a recognized option"),
        (("-xy",), "UnrecognizedOption", "x is not a recognized option"),
        (("--topic",), "OptionMissingRequiredArgument", "Option topic requires an argument"),
        (
            ("--verbose",),
            "UnavailableOption",
            "Option(s) [verbose] are unavailable given other options on the command line",
        ),
        (
            ("--force", "--verbose", "--quiet"),
            "UnavailableOption",
            "Option(s) [quiet] are unavailable given other options on the command line",
        ),
    ],
)
def test_what_cannot_be_parsed(words: tuple[str, ...], kind: str, says: str) -> None:
    with pytest.raises(OptionError) as refused:
        Parsed(*words)
    assert (refused.value.kind, str(refused.value)) == (kind, says)


@pytest.mark.parametrize("text", ["x", "1.5", "", "1_000", "2147483648", " 1"])
def test_a_wrong_number_is_told_when_it_is_asked_for(text: str) -> None:
    parsed = Parsed("--partitions", text)
    with pytest.raises(OptionError, match=f"^Cannot parse argument '{text}' of option partitions$"):
        parsed.given.one(parsed.count)


def test_numbers_as_java_reads_them() -> None:
    assert [java_integer(word) for word in ("0", "-1", "+7", "2147483647", "-2147483648", "٣")] == [
        0,
        -1,
        7,
        2**31 - 1,
        -(2**31),
        3,
    ]
    assert java_long("9223372036854775807") == 2**63 - 1
    for word in ("", "-", "+-1", "x", "1_0", " 1", "²", "2147483648", "-2147483649"):
        with pytest.raises(NumberError) as wrong:
            java_integer(word)
        assert str(wrong.value) == f'For input string: "{word}"'
    with pytest.raises(NumberError):
        java_long("9223372036854775808")


def test_one_value_is_asked_for_and_two_are_given() -> None:
    parsed = Parsed("--topic", "a", "--topic", "b")
    assert parsed.given.values(parsed.topic) == ["a", "b"]
    with pytest.raises(
        OptionError,
        match=r"^Found multiple arguments for option topic, but you asked for only one$",
    ):
        parsed.given.value(parsed.topic)


def test_what_is_missing_and_what_does_not_go_together() -> None:
    parsed = Parsed("--force", "--topic", "a")
    with pytest.raises(UsageError) as missing:
        check_required(parsed.given, parsed.topic, parsed.count)
    assert str(missing.value) == 'Missing required argument "[partitions]"'
    with pytest.raises(UsageError) as clash:
        check_invalid(parsed.given, parsed.topic, (parsed.codec, parsed.force))
    assert str(clash.value) == 'Option "[topic]" can\'t be used with option"[force]"'


def test_key_values() -> None:
    assert parse_key_values(["a=1", "b", "c="]) == {"a": "1", "b": "", "c": ""}
    with pytest.raises(
        InvalidPropertiesError, match=r"^Invalid command line properties: a=b=c d=1$"
    ):
        parse_key_values(["a=b=c", "d=1"])


def test_the_usage_text_has_two_columns_in_order_of_name() -> None:
    parser = OptionParser()
    parser.text(
        "zookeeper",
        "Where ZooKeeper is, which may be explained in more words than one line can hold.",
        "hosts",
    )
    parser.integer("batch", "How many.", "size", default=200)
    parser.text("codec", "The codec.", takes=Takes.OPTIONAL)
    parser.flag("all", lambda: "Made when it is shown.")
    lines = usage(parser).splitlines()
    assert lines[0].split() == ["Option", "Description"]
    assert lines[2].startswith("--all ")
    assert lines[2].rstrip().endswith("Made when it is shown.")
    assert lines[3].startswith("--batch <Integer: size> ")
    assert "(default: 200)" in lines[3]
    assert lines[4].startswith("--codec [String] ")
    assert lines[5].startswith("--zookeeper <String: hosts> ")
    assert lines[6].startswith(" " * 29)
    assert max(map(len, lines)) <= WIDTH


def test_an_option_shows_as_kafka_shows_it() -> None:
    assert str(Option("topic", "", str)) == "[topic]"
