"""Typed configuration keys (Kafka: ConfigDef.java).

A configuration is declared once, as a list of `ConfigKey`: name, type, default, allowed values, and
one line of explanation. Parsing, checking, the help text and the documentation page all come from
that list. A wrong value raises `ConfigException`, which names the key, the value and the allowed
values. A wrong value is never silently replaced with the default.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Final, NamedTuple, Protocol

ConfigValue = bool | int | float | str | tuple[str, ...] | None
"""The value of a key after parsing. A list is a tuple, because a parsed value never changes."""


class ConfigException(Exception):
    """A key is missing, or a value is not allowed.

    `key` helps the caller to find the file and line.
    """

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


class ConfigType(StrEnum):
    """The type of a key, which says how the text of a value is read. The names are Kafka's."""

    BOOLEAN = "boolean"
    STRING = "string"
    SHORT = "short"
    INT = "int"
    LONG = "long"
    DOUBLE = "double"
    LIST = "list"
    """Items separated by commas.

    Spaces around an item are ignored. An empty text is an empty list.
    """
    CLASS = "class"
    """The name of a Java class."""
    PASSWORD = "password"
    """A text that `ConfigDef.shown` hides."""


class _Required(Enum):
    REQUIRED = "required"


REQUIRED: Final = _Required.REQUIRED
"""This object replaces the default of a key that must be given."""

MAX_INT: Final = 2**31 - 1
MAX_LONG: Final = 2**63 - 1
_INTEGER_BOUNDS: Final = {
    ConfigType.SHORT: (-(2**15), 2**15 - 1),
    ConfigType.INT: (-MAX_INT - 1, MAX_INT),
    ConfigType.LONG: (-MAX_LONG - 1, MAX_LONG),
}


class Validator(Protocol):
    """Checks a parsed value. `refusal` returns the reason why the value is not allowed, in Kafka's
    words, or "" if the value is allowed.
    """

    def refusal(self, value: ConfigValue) -> str: ...


class Range(NamedTuple):
    """Accept numbers from `least` to `most`, both included. None means no limit."""

    least: float | None = None
    most: float | None = None

    def refusal(self, value: ConfigValue) -> str:
        if not isinstance(value, int | float):
            return "Value must be a number"
        if self.least is not None and value < self.least:
            return f"Value must be at least {self.least}"
        return (
            f"Value must be no more than {self.most}"
            if self.most is not None and value > self.most
            else ""
        )


class OneOf(NamedTuple):
    """Accept a text that is in a fixed set."""

    values: tuple[str, ...]

    def refusal(self, value: ConfigValue) -> str:
        return "" if value in self.values else "String must be one of: " + ", ".join(self.values)


class ListOf(NamedTuple):
    """Accept a list of texts from a fixed set. The list may be empty only if `empty` is true."""

    values: tuple[str, ...]
    empty: bool = False

    def refusal(self, value: ConfigValue) -> str:
        allowed = (
            isinstance(value, tuple)
            and all(v in self.values for v in value)
            and (self.empty or len(value) > 0)
        )
        return "" if allowed else "String must be one of: " + ", ".join(self.values)

    def first_wrong(self, value: tuple[str, ...]) -> str:
        """Return the first item that is not allowed. Kafka's error message names this item."""
        return next((item for item in value if item not in self.values), "")


class NonEmpty(NamedTuple):
    """Accept a text or a list that is not empty."""

    def refusal(self, value: ConfigValue) -> str:
        return (
            "" if isinstance(value, str | tuple) and len(value) > 0 else "Value must be non-empty"
        )


def double_text(value: float) -> str:
    """Format a number like Java's Double.toString: 0.5, 100.0, 1.7976931348623157E308.

    ZooKeeper and Kafka's responses contain numbers in this form.
    """
    if value == 0 or 1e-3 <= abs(value) < 1e7 or value != value or abs(value) == math.inf:
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(
            value, "NaN" if value != value else repr(float(value))
        )
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    rest = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{rest}E{len(digits) - 1 + int(exponent)}"


class Effect(StrEnum):
    """The effect of setting a key. docs/configuration.md shows these words."""

    WORKS = "works"
    NONE = "no effect yet"
    """The value is accepted but changes nothing. The broker logs a line about each such setting."""
    REFUSED = "refused"
    """The value asks for a protection that this project does not have.

    The broker does not start.
    """


class Gap(NamedTuple):
    """A feature that a key of Kafka's configuration needs and that this project does not have."""

    missing: str
    """The missing feature, as a clause without a full stop, for example "there are no quotas"."""
    honoured: tuple[ConfigValue, ...] = ()
    """Values that work, because they do not need the missing feature."""
    refuses: bool = False
    """Whether the broker refuses to start with any other value.

    True if ignoring the value would leave the cluster open to anyone.
    """

    @property
    def effect(self) -> Effect:
        return Effect.REFUSED if self.refuses else Effect.NONE


class ConfigKey(NamedTuple):
    """One key of a configuration.

    `default` is a parsed value or REQUIRED. If `default` is None, the key may be unset, and None is
    an allowed value.
    """

    name: str
    type: ConfigType
    default: ConfigValue | _Required
    validator: Validator | None
    doc: str
    gap: Gap | None = None
    """The feature that is missing before this key works completely. None if the key works."""

    @property
    def effect(self) -> Effect:
        """Return the effect of setting this key."""
        return Effect.WORKS if self.gap is None else self.gap.effect

    def gap_of(self, value: ConfigValue) -> Gap | None:
        """Return the missing feature that this parsed value needs, or None if the value works."""
        return None if self.gap is None or value is None or value in self.gap.honoured else self.gap

    def parse(self, raw: ConfigValue) -> ConfigValue:
        """Turn `raw`, which is usually text, into a value of this key's type, and check the value.

        Raises ConfigException if the value is not allowed.
        """
        value = self._typed(raw)
        if (
            self.validator is not None
            and not (value is None and self.default is None)
            and (why := self.validator.refusal(value))
        ):
            raise ConfigException(
                self.name,
                f"Invalid value {self._shown(raw, value)} for configuration {self.name}: {why}",
            )
        return value

    def _shown(self, raw: ConfigValue, value: ConfigValue) -> ConfigValue:
        """Return the part of a refused value that Kafka's error message shows."""
        match value:
            case float():
                return double_text(value)
            case tuple() if isinstance(self.validator, ListOf):
                return self.validator.first_wrong(value)
            case tuple():
                return f"[{', '.join(value)}]"
            case _:
                return raw

    def _typed(self, raw: ConfigValue) -> ConfigValue:
        if not isinstance(raw, str):
            return raw
        text = raw.strip()
        match self.type:
            case ConfigType.BOOLEAN:
                if text.lower() in ("true", "false"):
                    return text.lower() == "true"
                raise self._refused(raw, "Expected value to be either true or false")
            case ConfigType.SHORT | ConfigType.INT | ConfigType.LONG:
                least, most = _INTEGER_BOUNDS[self.type]
                try:
                    number = int(text)
                except ValueError:
                    raise self._refused(raw, f"Not a number of type {self.type.name}") from None
                if "_" in text or not least <= number <= most:
                    raise self._refused(raw, f"Not a number of type {self.type.name}")
                return number
            case ConfigType.DOUBLE:
                try:
                    return float(text)
                except ValueError:
                    raise self._refused(raw, f"Not a number of type {self.type.name}") from None
            case ConfigType.LIST:
                return tuple(item.strip() for item in text.split(",")) if text else ()
            case _:
                return text

    def _refused(self, raw: ConfigValue, why: str) -> ConfigException:
        shown = "[hidden]" if self.type is ConfigType.PASSWORD else raw
        return ConfigException(
            self.name, f"Invalid value {shown} for configuration {self.name}: {why}"
        )


class ConfigValues(dict[str, ConfigValue]):
    """The parsed values by key. The class has one getter for each type of value.

    A getter of the wrong type raises TypeError, because that is a bug of the program.
    """

    def get_int(self, key: str) -> int:
        value = self[key]
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{key} is {value!r}, not an int")
        return value

    def get_optional_int(self, key: str) -> int | None:
        return None if self[key] is None else self.get_int(key)

    def get_float(self, key: str) -> float:
        value = self[key]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{key} is {value!r}, not a number")
        return value

    def get_bool(self, key: str) -> bool:
        value = self[key]
        if not isinstance(value, bool):
            raise TypeError(f"{key} is {value!r}, not a boolean")
        return value

    def get_string(self, key: str) -> str:
        value = self[key]
        if not isinstance(value, str):
            raise TypeError(f"{key} is {value!r}, not a text")
        return value

    def get_optional_string(self, key: str) -> str | None:
        return None if self[key] is None else self.get_string(key)

    def get_list(self, key: str) -> tuple[str, ...]:
        value = self[key]
        if not isinstance(value, tuple):
            raise TypeError(f"{key} is {value!r}, not a list")
        return value


class SettingGap(NamedTuple):
    """A setting whose value needs a missing feature.

    `str()` describes it for a log line or a terminal.
    """

    name: str
    shown: str
    """The value as text. It is hidden if it is a password."""
    gap: Gap

    def __str__(self) -> str:
        if self.gap.refuses:
            return f"{self.name}={self.shown} is refused, because {self.gap.missing}"
        return f"{self.name}={self.shown} has no effect yet, because {self.gap.missing}"


class ConfigDef:
    """The keys of one kind of configuration, such as a broker's, a topic's or a client's."""

    def __init__(self, keys: Iterable[ConfigKey]) -> None:
        self.keys: dict[str, ConfigKey] = {}
        for key in keys:
            if key.name in self.keys:
                raise ValueError(f"configuration {key.name} is defined twice")
            self.keys[key.name] = key

    def __iter__(self) -> Iterator[ConfigKey]:
        return iter(self.keys.values())

    def __contains__(self, name: str) -> bool:
        return name in self.keys

    def parse(self, given: Mapping[str, ConfigValue]) -> ConfigValues:
        """Return a value for every defined key: the given value, or the default.

        Given keys that are not defined are left out (`unknown` lists them). Raises ConfigException
        for the first wrong value or missing key. O(keys).
        """
        values = ConfigValues()
        for name, key in self.keys.items():
            if name in given:
                values[name] = key.parse(given[name])
            elif isinstance(key.default, _Required):
                raise ConfigException(
                    name, f'Missing required configuration "{name}" which has no default value.'
                )
            else:
                values[name] = key.default
        return values

    def problems(self, given: Mapping[str, ConfigValue]) -> list[ConfigException]:
        """Return one error for every wrong value and every missing key.

        `parse` raises only the first error. In the result, errors of wrong values are in the order
        of `given`, and errors of missing keys are at the end.
        """
        found: list[ConfigException] = []
        missing = [
            name
            for name, key in self.keys.items()
            if isinstance(key.default, _Required) and name not in given
        ]
        for name in [*(name for name in given if name in self.keys), *missing]:
            try:
                ConfigDef([self.keys[name]]).parse(given)
            except ConfigException as wrong:
                found.append(wrong)
        return found

    def unknown(self, given: Iterable[str]) -> list[str]:
        """Return the given names that are not defined, in the given order."""
        return [name for name in given if name not in self.keys]

    def gaps(self, given: Mapping[str, str]) -> "list[SettingGap]":
        """Return the given settings that need a missing feature, in the given order.

        Keys that are not defined and wrong values are skipped.
        """
        found = []
        for name, text in given.items():
            key = self.keys.get(name)
            if key is None or key.gap is None:
                continue
            try:
                value = key.parse(text)
            except ConfigException:
                continue
            if (gap := key.gap_of(value)) is not None:
                found.append(SettingGap(name, self.shown(name, value), gap))
        return found

    def default_text(self, name: str) -> str:
        """Return the default of a key as it would be written in a file, or "" if the key has no
        default.
        """
        default = self.keys[name].default
        return "" if isinstance(default, _Required) else self.shown(name, default)

    def shown(self, name: str, value: ConfigValue) -> str:
        """Return a value as it would be written in a file. A password is hidden."""
        key = self.keys.get(name)
        if key is not None and key.type is ConfigType.PASSWORD and value is not None:
            return "[hidden]"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, tuple):
            return ",".join(value)
        if isinstance(value, float):
            return double_text(value)
        return "" if value is None else str(value)
