"""Turn numbers from a frame into words that a reader knows, for example a time or a size."""

import datetime
import re
from collections.abc import Callable, Mapping
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey

#: The length up to which a text or bytes are shown in full.
SHOWN: Final = 60
_API_NAMES: Final[dict[int, str]] = {int(key): key.title for key in ApiKey}
_KNOWN_ERRORS: Final = {int(error): error for error in Errors}


def api_name(key: int) -> str:
    """Return Kafka's name of an API, for example `ListOffsets`. Empty for an unknown key."""
    return _API_NAMES.get(key, "")


def api_named(name: str) -> ApiKey | None:
    """Return the API of this name or number: `list-offsets`, `ListOffsets` or `2`."""
    if name.isdecimal():
        return next((key for key in ApiKey if key == int(name)), None)
    wanted = re.sub(r"[^a-z]", "", name.lower())
    return next((key for key in ApiKey if key.name.replace("_", "").lower() == wanted), None)


def text_words(text: str) -> str:
    """Return a text in quotes, shortened in the middle if it is long."""
    if len(text) > SHOWN:
        return f'"{_plain(text[: SHOWN - 20])}…" ({len(text):,} characters)'
    return f'"{_plain(text)}"'


def _plain(text: str) -> str:
    """Return the text with control characters escaped, because a terminal would act on them."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def bytes_words(data: bytes | memoryview) -> str:
    """Return bytes as text if they are text, else as hex."""
    size = len(data)
    if not size:
        return "empty"
    head = bytes(data[: SHOWN + 4])
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        # If the cut is inside the last character, the bytes are still shown as text, not as hex.
        text = head[: error.start].decode() if error.start >= SHOWN else ""
    if text and all(c.isprintable() for c in text):
        return text_words(text) if size <= SHOWN else f'"{text[: SHOWN - 20]}…" ({size:,} bytes)'
    shown = head[:12].hex(" ")
    return shown if size <= 12 else f"{shown} … ({size:,} bytes)"


def time_words(ms: int) -> str:
    """Return a time in ms since 1970 as text in UTC."""
    try:
        moment = datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC)
    except (OverflowError, ValueError, OSError):
        return f"{ms:,} ms"
    return f"{ms} = {moment:%Y-%m-%d %H:%M:%S}.{ms % 1000:03d} UTC"


def _error(value: int) -> str:
    error = _KNOWN_ERRORS.get(value)
    return f"{value} = {error.name}" if error is not None else f"{value} (no error of Kafka 2.8)"


def _choice(names: Mapping[int, str]) -> Callable[[int], str]:
    return lambda value: f"{value} = {names[value]}" if value in names else str(value)


_ACKS: Final = _choice({0: "no answer", 1: "the leader has it", -1: "the whole ISR has it"})
_RESOURCES: Final = _choice({2: "topic", 4: "broker", 8: "broker logger"})
_BY_FIELD: Final[Mapping[str, Callable[[int], str]]] = {
    "api_key": lambda value: f"{value} = {api_name(value)}" if api_name(value) else str(value),
    "error_code": _error,
    "acks": _ACKS,
    "isolation_level": _choice({0: "read_uncommitted", 1: "read_committed"}),
    "replica_id": _choice({-1: "a consumer", -2: "a debugging consumer"}),
    "key_type": _choice({0: "group", 1: "transaction"}),
    "election_type": _choice({0: "preferred", 1: "unclean"}),
    "resource_type": _RESOURCES,
    "config_operation": _choice({0: "set", 1: "delete", 2: "append", 3: "subtract"}),
}
_NONE_AT_MINUS_1: Final = frozenset(
    {
        "producer_id", "producer_epoch", "base_sequence", "leader_epoch", "current_leader_epoch",
        "last_stable_offset", "log_start_offset", "leader_id", "partition_leader_epoch",
        "last_fetched_epoch", "committed_leader_epoch", "controller_id",
    }
)  # fmt: skip
_LIST_OFFSETS_TIMES: Final = {-1: "latest", -2: "earliest"}


def number_words(field: str, value: int) -> str:
    """Return a field's number as text with its unit, or with its name."""
    said = _BY_FIELD.get(field)
    if said is not None:
        return said(value)
    if field == "timestamp" and value in _LIST_OFFSETS_TIMES:
        return f"{value} = {_LIST_OFFSETS_TIMES[value]}"
    if field.endswith(("timestamp", "timestamp_ms", "time_stamp")) or field == "log_append_time_ms":
        return time_words(value) if value > 0 else f"{value} = none" if value == -1 else str(value)
    if value == -1 and field in _NONE_AT_MINUS_1:
        return "-1 = none"
    if field.endswith("_ms"):
        return f"{value:,} ms"
    if field.endswith("_bytes") or field == "size":
        return f"{value:,} bytes"
    return f"{value:,}" if abs(value) >= 10_000 and "id" not in field else str(value)
