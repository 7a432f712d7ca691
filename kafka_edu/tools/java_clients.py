"""Translate the Java producer's properties for kafka-python, which console-producer uses.

kafka-python's settings have Java's names with underscores. Settings that the console tools make
themselves override the user's properties, as in Kafka. An unknown property causes a warning and is
left out.
"""

import logging
import math
from collections.abc import Mapping
from typing import Final

from kafka.errors import BrokerResponseError, KafkaConnectionError, KafkaTimeoutError

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.tools.tool import ToolError, java_class, log_line

Properties = Mapping[str, str]
#: Properties of the Java clients that are ignored: kafka-python lacks or does not need them.
_NOT_TAKEN: Final = frozenset(
    {
        "buffer.memory",
        "interceptor.classes",
        "key.deserializer",
        "key.serializer",
        "metrics.recording.level",
        "partition.assignment.strategy",
        "partitioner.class",
        "value.deserializer",
        "value.serializer",
    }
)
#: The loggers of kafka-python that report why an address cannot be reached.
#:
#: The reasons are: unknown name, connection refused, no answer.
_TELL_OF_CONNECTIONS: Final = ("kafka.net.inet", "kafka.net.manager")
REPEATED_AFTER_S: Final = 10
_CONFIG_EXCEPTION: Final = "org.apache.kafka.common.config.ConfigException"


def client_settings(
    properties: Properties, known: Mapping[str, object], logger: str
) -> dict[str, object]:
    """Return the settings for a client whose settings and defaults are `known`.

    Raises ToolError(ConfigException) for a value of the wrong type.
    """
    settings: dict[str, object] = {}
    for name, text in properties.items():
        key = name.replace(".", "_")
        if name in _NOT_TAKEN:
            continue
        if key not in known:
            log_line(
                "WARN", f"The configuration '{name}' was supplied but isn't a known config.", logger
            )
            continue
        settings[key] = _typed(name, text.strip(), known[key])
    return settings


def _typed(name: str, text: str, default: object) -> object:
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise _refused(name, text, "Expected value to be either true or false")
        return text.lower() == "true"
    if isinstance(default, int | float) or name in ("send.buffer.bytes", "receive.buffer.bytes"):
        try:
            return int(text)
        except ValueError:
            raise _refused(name, text, "Not a number of type INT") from None
    if name == "compression.type":
        return None if text == "none" else text
    return text


def acks(text: str) -> int:
    """Parse the value of acks: 0, 1, or -1 (all). Raises ToolError(ConfigException)."""
    named = {"all": -1, "-1": -1, "0": 0, "1": 1}
    if text not in named:
        raise _refused("acks", text, "String must be one of: all, -1, 0, 1")
    return named[text]


def _refused(name: str, text: str, why: str) -> ToolError:
    return ToolError(_CONFIG_EXCEPTION, f"Invalid value {text} for configuration {name}: {why}")


def java_error(error: Exception) -> str:
    """Format a client's error as Java does: its class and its message."""
    if isinstance(error, KafkaTimeoutError | KafkaConnectionError):
        return f"org.apache.kafka.common.errors.TimeoutException: {error}"
    if isinstance(error, BrokerResponseError):
        known = Errors.of(int(error.errno))
        return f"{java_class(KafkaException(known))}: {known.message}"
    return f"org.apache.kafka.common.KafkaException: {error}"


class _JavaLogLines(logging.Handler):
    """Turns kafka-python's messages about failed connections into lines of Java's form.

    The form is that of Java's NetworkClient. Each line appears at most once in ten seconds.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._last_told: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.created - self._last_told.get(text, -math.inf) >= REPEATED_AFTER_S:
            self._last_told[text] = record.created
            log_line("WARN", text, record.name)


def log_like_java() -> None:
    """Let kafka-python report on standard error which addresses it cannot reach.

    The lines have the form of Kafka's tools. kafka-python's other messages are hidden.
    """
    logging.getLogger("kafka").propagate = False
    handler = _JavaLogLines()
    for name in _TELL_OF_CONNECTIONS:
        logging.getLogger(name).addHandler(handler)
