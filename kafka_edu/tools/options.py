"""Parse command lines as Kafka's tools do.

(joptsimple's OptionParser without abbreviations; Kafka: CommandLineUtils.scala)

    --topic web    --topic=web    -topic web    --force    --topic a --topic b
    words that belong to no option are ignored

An option with a required argument always takes the next word, even if that word looks like an
option. An option with an optional argument takes the next word only if that word is not an option.
Names are never abbreviated. A value is converted only when it is used. So a wrong number is
reported only when the tool uses the number, as in Kafka: perhaps after a warning, perhaps never.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Generic, Protocol, TypeVar, cast

T = TypeVar("T")


class OptionError(Exception):
    """A command line cannot be parsed.

    The message is joptsimple's. `kind` names joptsimple's exception, such as `UnrecognizedOption`.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class NumberError(ValueError):
    """A word is not a number. The message is the same as in Java's NumberFormatException."""

    def __init__(self, word: str) -> None:
        super().__init__(f'For input string: "{word}"')


class UsageError(Exception):
    """The options cannot be combined. The tool prints this message and then all options.

    (Kafka: CommandLineUtils.printUsageAndDie)
    """


class Takes(Enum):
    """Whether an option takes an argument."""

    NOTHING = "nothing"
    REQUIRED = "required"
    OPTIONAL = "optional"


class Option(Generic[T]):
    """One option of a tool.

    `description` may be a function if its text takes long to make. `described_as` is the name of
    the argument in the usage text.
    """

    def __init__(
        self,
        name: str,
        description: str | Callable[[], str],
        convert: Callable[[str], T],
        *,
        takes: Takes = Takes.REQUIRED,
        type_name: str = "String",
        described_as: str = "",
        default: T | None = None,
        separator: str = "",
        available_if: str = "",
        available_unless: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.description = description
        self.convert = convert
        self.takes = takes
        self.type_name = type_name
        self.described_as = described_as
        self.default = default
        self.separator = separator
        self.available_if = available_if
        self.available_unless = available_unless

    def __str__(self) -> str:
        """Return the option as Kafka's messages show it: `[topic]`."""
        return f"[{self.name}]"


class Named(Protocol):
    """An option with a value of any type. Only its name is used."""

    @property
    def name(self) -> str: ...


class OptionSet:
    """The options that were given on a command line, with their values."""

    def __init__(self) -> None:
        self._given: dict[str, list[str]] = {}
        self.order: list[str] = []
        """The names of the given options, in the order of the command line."""

    def add(self, name: str, argument: str | None) -> None:
        self.order.append(name)
        arguments = self._given.setdefault(name, [])
        if argument is not None:
            arguments.append(argument)

    def has(self, option: Named) -> bool:
        return option.name in self._given

    def values(self, option: Option[T]) -> list[T]:
        """Return all values of an option in order, or the default if there are none.

        Raises OptionError for a value that cannot be converted.
        """
        texts = self._given.get(option.name)
        if not texts:
            return [] if option.default is None else [option.default]
        if option.separator:
            texts = [part for text in texts for part in text.split(option.separator)]
        return [_converted(option, text) for text in texts]

    def value(self, option: Option[T]) -> T | None:
        """Return an option's only value, its default, or None. Raises OptionError for several."""
        values = self.values(option)
        if len(values) > 1:
            raise OptionError(
                "MultipleArgumentsForOption",
                f"Found multiple arguments for option {option.name}, but you asked for only one",
            )
        return values[0] if values else None

    def one(self, option: Option[T]) -> T:
        """Return the value of an option that has a default or is known to be given."""
        value = self.value(option)
        if value is None:
            raise ValueError(f"there is no value for --{option.name}: it should have been checked")
        return value


def _converted(option: Option[T], text: str) -> T:
    try:
        return option.convert(text)
    except ValueError:
        raise OptionError(
            "OptionArgumentConversion", f"Cannot parse argument '{text}' of option {option.name}"
        ) from None


def java_integer(text: str, bits: int = 31) -> int:
    """Parse an integer as Java's Integer.parseInt does. Raises NumberError.

    With `bits` 63 it parses as Long.parseLong does.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isdecimal() or not -(1 << bits) <= int(text) < 1 << bits:
        raise NumberError(text)
    return int(text)


def java_long(text: str) -> int:
    return java_integer(text, 63)


class OptionParser:
    """The options of one tool, in the order of their declaration."""

    def __init__(self) -> None:
        self.options: dict[str, Option[object]] = {}

    def _accept(self, option: Option[T]) -> Option[T]:
        self.options[option.name] = cast(Option[object], option)
        return option

    def flag(
        self,
        name: str,
        description: str,
        *,
        available_if: str = "",
        available_unless: Sequence[str] = (),
    ) -> Option[str]:
        option = Option(
            name,
            description,
            str,
            takes=Takes.NOTHING,
            available_if=available_if,
            available_unless=available_unless,
        )
        return self._accept(option)

    def text(
        self,
        name: str,
        description: str | Callable[[], str],
        described_as: str = "",
        *,
        default: str | None = None,
        takes: Takes = Takes.REQUIRED,
        separator: str = "",
    ) -> Option[str]:
        return self._accept(
            Option(
                name,
                description,
                str,
                described_as=described_as,
                default=default,
                takes=takes,
                separator=separator,
            )
        )

    def integer(
        self, name: str, description: str, described_as: str = "", *, default: int | None = None
    ) -> Option[int]:
        """Declare an option whose value is a Java Integer."""
        return self._accept(
            Option(
                name,
                description,
                java_integer,
                type_name="Integer",
                described_as=described_as,
                default=default,
            )
        )

    def long(
        self,
        name: str,
        description: str,
        described_as: str = "",
        *,
        default: int | None = None,
        takes: Takes = Takes.REQUIRED,
    ) -> Option[int]:
        """Declare an option whose value is a Java Long."""
        return self._accept(
            Option(
                name,
                description,
                java_long,
                type_name="Long",
                described_as=described_as,
                default=default,
                takes=takes,
            )
        )

    def choice(
        self,
        name: str,
        description: str,
        convert: Callable[[str], str],
        type_name: str,
        described_as: str = "",
    ) -> Option[str]:
        """Declare an option that allows only certain words.

        `convert` raises ValueError for all other words.
        """
        return self._accept(
            Option(name, description, convert, type_name=type_name, described_as=described_as)
        )

    def parse(self, words: Sequence[str]) -> OptionSet:
        """Parse the words of a command line. Raises OptionError."""
        found = OptionSet()
        at = 0
        while at < len(words):
            word = words[at]
            at += 1
            if word == "--":
                break
            if not _looks_like_an_option(word):
                continue
            name, _, inline = (
                word.lstrip("-").partition("=")
                if word.startswith("--")
                else word[1:].partition("=")
            )
            option = self.options.get(name)
            if option is None:
                raise OptionError(
                    "UnrecognizedOption",
                    f"{name if word.startswith('--') else self._first_unknown(name)} is not a"
                    " recognized option",
                )
            at += self._take(option, inline, words[at : at + 1], found)
        self._check_available(found)
        return found

    def _first_unknown(self, cluster: str) -> str:
        """Return the first letter of `cluster` that is no option.

        `cluster` is a word that followed one dash. It may stand for several options of one letter
        each.
        """
        return next((letter for letter in cluster if letter not in self.options), cluster)

    @staticmethod
    def _take(
        option: Option[object], inline: str, following: Sequence[str], found: OptionSet
    ) -> int:
        """Store a given option. Return how many of the following words are its argument: 0 or 1."""
        if option.takes is Takes.NOTHING:
            found.add(option.name, None)
        elif inline:
            found.add(option.name, inline)
        elif option.takes is Takes.OPTIONAL and not _may_follow(option, following):
            found.add(option.name, None)
        elif following:
            found.add(option.name, following[0])
            return 1
        else:
            raise OptionError(
                "OptionMissingRequiredArgument", f"Option {option.name} requires an argument"
            )
        return 0

    def _check_available(self, found: OptionSet) -> None:
        """Check the rules for options that require or exclude another option."""
        forbidden = [
            option.name
            for option in self.options.values()
            if found.has(option)
            and (
                (option.available_if and not found.has(self.options[option.available_if]))
                or any(found.has(self.options[other]) for other in option.available_unless)
            )
        ]
        if forbidden:
            raise OptionError(
                "UnavailableOption",
                f"Option(s) [{', '.join(forbidden)}] are unavailable given other options on the"
                " command line",
            )


def _looks_like_an_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _may_follow(option: Option[object], following: Sequence[str]) -> bool:
    """Return whether the next word is the argument of an option with an optional argument.

    It is the argument if it is not an option, or if it is a number and the option takes a number.
    """
    if not following:
        return False
    try:
        option.convert(following[0])
    except ValueError:
        return False
    return option.type_name != "String" or not _looks_like_an_option(following[0])


def check_required(options: OptionSet, *required: Named) -> None:
    """Raise UsageError for the first option of `required` that was not given."""
    for option in required:
        if not options.has(option):
            raise UsageError(f'Missing required argument "{option}"')


def check_invalid(options: OptionSet, used: Named, invalid: Iterable[Named]) -> None:
    """Raise UsageError if `used` was given together with one of `invalid`."""
    if options.has(used):
        for option in invalid:
            if options.has(option):
                raise UsageError(f'Option "{used}" can\'t be used with option"{option}"')


def parse_key_values(pairs: Iterable[str]) -> dict[str, str]:
    """Parse `key=value` pairs. A `key` without `=` gets an empty value.

    Raises InvalidPropertiesError for more than one `=` (Kafka: parseKeyValueArgs).
    """
    given = list(pairs)
    properties = {}
    for pair in given:
        parts = pair.split("=")
        while len(parts) > 1 and not parts[-1]:  # Java's split drops empty parts at the end
            parts.pop()
        if len(parts) > 2:
            raise InvalidPropertiesError("Invalid command line properties: " + " ".join(given))
        properties[parts[0]] = parts[1] if len(parts) == 2 else ""
    return properties


class InvalidPropertiesError(Exception):
    """The value of a --property is not of the form key=value. The message is Kafka's."""
