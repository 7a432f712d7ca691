"""Convert the text of an option to its value. The source and the sink use the same functions.

A table of options is a sequence of Option. For a wrong text, a function raises SourceOptionError
with a message of one line.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from kafka_edu.spark.source_errors import SourceOptionError

SECURITY: Final = "kafka.security.protocol"
MAX_INT: Final = 2**31 - 1


class Mode(StrEnum):
    """The kinds of queries (batch, streaming or both) in which an option may be used."""

    BOTH = "batch and streaming"
    BATCH = "batch"
    STREAMING = "streaming"


class Option(NamedTuple):
    """One option: a row of a table of options."""

    name: str
    read: Callable[[str, str], Any]
    """Function that gets the option's name and text. It returns the value, or raises
    SourceOptionError.
    """
    default: str
    """The text of the default value. Empty if there is no default."""
    meaning: str
    mode: Mode = Mode.BOTH


def wrong(name: str, text: str, allowed: str) -> SourceOptionError:
    shown = text if len(text) <= 80 else f"{text[:77]}..."
    return SourceOptionError(f"option {name} is {shown!r}: it must be {allowed}")


def string(name: str, text: str) -> str:
    return text


def flag(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise wrong(name, text, "true or false")
    return text.lower() == "true"


def whole_number(least: int, most: int = 2**63 - 1) -> Callable[[str, str], int]:
    def read(name: str, text: str) -> int:
        if not re.fullmatch(r"\s*-?\d{1,19}\s*", text, re.ASCII) or not least <= int(text) <= most:
            upper = "" if most == 2**63 - 1 else f" to {most}"
            raise wrong(name, text, f"a whole number, {least}{upper or ' or more'}")
        return int(text)

    return read


def one_of(*words: str) -> Callable[[str, str], str]:
    def read(name: str, text: str) -> str:
        if text.lower() not in words:
            raise wrong(name, text, " or ".join(words))
        return text.lower()

    return read


def servers(name: str, text: str) -> tuple[tuple[str, int], ...]:
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = re.fullmatch(r"(?:\w+://)?\[?([^\[\]/\s]+?)\]?:(\d{1,5})", part, re.ASCII)
        if match is None or not 0 < int(match[2]) < 65536:
            raise wrong(name, text, "host:port, or several of them with commas between")
        found.append((match[1], int(match[2])))
    if not found:
        raise SourceOptionError(f'option {name} is missing: .option("{name}", "127.0.0.1:9092")')
    return tuple(found)


def check_names(
    given: Mapping[str, str],
    table: Mapping[str, Option],
    without_effect: Iterable[str],
    refused: Mapping[str, str],
    page: str,
) -> None:
    """Refuse each option that is in none of the tables. The message names the most similar option.

    The names in `given` and `table` are in lower case. `refused` maps the beginning of a name to
    the reason why such options are refused. `page` is the documentation page with all options.
    Raises SourceOptionError for the first refused option.
    """
    known = {
        **{name: option.name for name, option in table.items()},
        **{name.lower(): name for name in without_effect},
        SECURITY: SECURITY,
    }
    for name, text in given.items():
        if name == SECURITY:
            if text.upper() != "PLAINTEXT":
                raise wrong(name, text, 'PLAINTEXT: use format("kafka") for any other')
            continue
        if name in known:
            continue
        for beginning, reason in refused.items():
            if name.startswith(beginning):
                raise SourceOptionError(f"option {name} is not supported: {reason}")
        plain = {key.replace(".", "").removeprefix("kafka"): key for key in known}
        near = difflib.get_close_matches(name, known, 1, 0.7) or [
            plain[key]
            for key in difflib.get_close_matches(
                name.replace(".", "").replace("_", "").removeprefix("kafka"), plain, 1, 0.7
            )
        ]
        hint = f"did you mean {known[near[0]]}?" if near else f"{page} lists them all"
        raise SourceOptionError(f"option {name} is not known: {hint}")
