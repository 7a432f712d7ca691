"""Options as Kafka's tools read them (joptsimple's OptionParser without abbreviations; Kafka:
CommandLineUtils.scala).

    --topic web    --topic=web    -topic web    --force    --topic a --topic b
    words that belong to no option are ignored

An option with a required argument takes the next word, whatever it looks like. One with an optional
argument takes only a word that is not an option. Names are never abbreviated. A value is converted
when it is used. A wrong number is therefore an error when the tool needs it, as in Kafka, so it may
come after a warning or not at all.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Generic, Protocol, TypeVar, cast

T = TypeVar("T")


class OptionError(Exception):
    """A command line that cannot be parsed.

    The text is joptsimple's. `kind` names its exception, such as `UnrecognizedOption`.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class NumberError(ValueError):
    """A word that is not a number. The text is that of Java's NumberFormatException."""

    def __init__(self, word: str) -> None:
        super().__init__(f'For input string: "{word}"')


class UsageError(Exception):
    """A command line that makes no sense. The text is shown, then all options (Kafka:
    CommandLineUtils.printUsageAndDie).
    """


class Takes(Enum):
    """Whether an option has an argument."""

    NOTHING = "nothing"
    REQUIRED = "required"
    OPTIONAL = "optional"


class Option(Generic[T]):
    """One option.

    `description` may be a function if the text is expensive to make. `described_as` names the
    argument in the usage text.
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
        """Format it as Kafka's messages show it: `[topic]`."""
        return f"[{self.name}]"


class Named(Protocol):
    """An option of any type."""

    @property
    def name(self) -> str: ...


class OptionSet:
    """The options of a command line, with their values."""

    def __init__(self) -> None:
        self._given: dict[str, list[str]] = {}
        self.order: list[str] = []
        """The names of the options in their order."""

    def add(self, name: str, argument: str | None) -> None:
        self.order.append(name)
        arguments = self._given.setdefault(name, [])
        if argument is not None:
            arguments.append(argument)

    def has(self, option: Named) -> bool:
        return option.name in self._given

    def values(self, option: Option[T]) -> list[T]:
        """Return all values in order, or the default if there are none. Raises OptionError for one
        that cannot be converted.
        """
        texts = self._given.get(option.name)
        if not texts:
            return [] if option.default is None else [option.default]
        if option.separator:
            texts = [part for text in texts for part in text.split(option.separator)]
        return [_converted(option, text) for text in texts]

    def value(self, option: Option[T]) -> T | None:
        """Return the only value, the default, or None. Raises OptionError if there are several."""
        values = self.values(option)
        if len(values) > 1:
            raise OptionError(
                "MultipleArgumentsForOption",
                f"Found multiple arguments for option {option.name}, but you asked for only one",
            )
        return values[0] if values else None

    def one(self, option: Option[T]) -> T:
        """Return the value of an option that has a default, or whose presence was checked."""
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
    """Parse as Java's Integer.parseInt; with `bits` 63 as Long.parseLong. Raises NumberError."""
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
        """Declare an option with a Java Integer."""
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
        """Declare an option with a Java Long."""
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
        """Declare an option with one of several words. `convert` raises ValueError for others."""
        return self._accept(
            Option(name, description, convert, type_name=type_name, described_as=described_as)
        )

    def parse(self, words: Sequence[str]) -> OptionSet:
        """Parse the words. Raises OptionError."""
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
        """Return the first unknown letter. A word with one dash may be several options of one
        letter each.
        """
        return next((letter for letter in cluster if letter not in self.options), cluster)

    @staticmethod
    def _take(
        option: Option[object], inline: str, following: Sequence[str], found: OptionSet
    ) -> int:
        """Note the option. Return how many of the following words are its argument."""
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
        """Check options that need another option, or exclude one."""
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
    """Return whether the next word is the argument of an option that can do without one.

    It is if it is not an option, or if it is a number where a number is expected.
    """
    if not following:
        return False
    try:
        option.convert(following[0])
    except ValueError:
        return False
    return option.type_name != "String" or not _looks_like_an_option(following[0])


def check_required(options: OptionSet, *required: Named) -> None:
    """Raise UsageError for the first of `required` that is missing."""
    for option in required:
        if not options.has(option):
            raise UsageError(f'Missing required argument "{option}"')


def check_invalid(options: OptionSet, used: Named, invalid: Iterable[Named]) -> None:
    """Raise UsageError if `used` is given together with one of `invalid`."""
    if options.has(used):
        for option in invalid:
            if options.has(option):
                raise UsageError(f'Option "{used}" can\'t be used with option"{option}"')


def parse_key_values(pairs: Iterable[str]) -> dict[str, str]:
    """Parse `key=value` pairs. `key` alone has the empty value.

    Raises InvalidProperties for more than one `=` (Kafka: parseKeyValueArgs).
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
    """A --property that is not key=value. The text is Kafka's."""
