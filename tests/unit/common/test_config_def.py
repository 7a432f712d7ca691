import pytest

from kafka_edu.common.config_def import (
    REQUIRED,
    ConfigDef,
    ConfigException,
    ConfigKey,
    ConfigType,
    ListOf,
    NonEmpty,
    OneOf,
    Range,
)

KEYS = ConfigDef(
    [
        ConfigKey("broker.id", ConfigType.INT, -1, None, "id"),
        ConfigKey("segment.bytes", ConfigType.INT, 1024, Range(14), "size"),
        ConfigKey("ratio", ConfigType.DOUBLE, 0.5, Range(0, 1), "share"),
        ConfigKey("policy", ConfigType.LIST, ("delete",), ListOf(("compact", "delete")), "policy"),
        ConfigKey("type", ConfigType.STRING, "producer", OneOf(("producer", "gzip")), "codec"),
        ConfigKey("enable", ConfigType.BOOLEAN, True, None, "switch"),
        ConfigKey("roll.ms", ConfigType.LONG, None, Range(1), "may be unset"),
        ConfigKey("connect", ConfigType.STRING, REQUIRED, NonEmpty(), "must be given"),
        ConfigKey("secret", ConfigType.PASSWORD, None, None, "hidden"),
    ]
)


def test_texts_become_typed_values_and_the_rest_gets_its_default() -> None:
    values = KEYS.parse(
        {
            "connect": " h:1 ",
            "segment.bytes": "14",
            "policy": "compact, delete",
            "enable": "FALSE",
            "ratio": "0.25",
            "other": "x",
        }
    )
    assert values.get_int("segment.bytes") == 14
    assert values.get_list("policy") == ("compact", "delete")
    assert values.get_bool("enable") is False
    assert values.get_float("ratio") == 0.25
    assert values.get_int("broker.id") == -1
    assert values.get_string("connect") == "h:1"
    assert values.get_optional_int("roll.ms") is None
    assert "other" not in values
    assert KEYS.unknown(["other", "connect"]) == ["other"]


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("segment.bytes", "13", "at least 14"),
        ("segment.bytes", "3000000000", "Not a number of type INT"),
        ("segment.bytes", "1_000", "Not a number of type INT"),
        ("segment.bytes", "big", "Not a number of type INT"),
        ("ratio", "1.5", "no more than 1"),
        ("ratio", "half", "Not a number of type DOUBLE"),
        ("policy", "shred,delete", "compact, delete"),
        ("policy", "", "compact, delete"),
        ("type", "rar", "producer, gzip"),
        ("enable", "yes", "Expected value to be either true or false"),
        ("roll.ms", "0", "at least 1"),
        ("connect", "", "non-empty"),
    ],
)
def test_a_wrong_value_is_refused_by_key_value_and_what_is_allowed(
    key: str, value: str, allowed: str
) -> None:
    with pytest.raises(ConfigException) as refused:
        KEYS.parse({"connect": "h:1", key: value})
    assert refused.value.key == key
    named = value.partition(",")[0]  # of a list, the first item that is not allowed
    assert f"Invalid value {named} for configuration {key}" in str(refused.value)
    assert allowed in str(refused.value)


def test_a_missing_key_without_default_is_named() -> None:
    with pytest.raises(ConfigException, match=r'Missing required configuration "connect"'):
        KEYS.parse({})


def test_a_reader_of_the_wrong_type_is_a_bug() -> None:
    values = KEYS.parse({"connect": "h"})
    with pytest.raises(TypeError, match="enable"):
        values.get_int("enable")


def test_values_are_shown_as_in_a_file_and_passwords_not_at_all() -> None:
    assert KEYS.shown("policy", ("compact", "delete")) == "compact,delete"
    assert KEYS.shown("enable", False) == "false"
    assert KEYS.shown("secret", "abc") == "[hidden]"


def test_a_key_defined_twice_is_refused() -> None:
    key = ConfigKey("a", ConfigType.INT, 1, None, "")
    with pytest.raises(ValueError, match="twice"):
        ConfigDef([key, key])
