"""Settings, errors and log lines of our clients, in the form of Kafka's tools.

The console tools use our own clients. A setting that the client does not have causes a warning and
is left out, as in Kafka. A setting for protection, such as `sasl.mechanism`, is an error. Otherwise
the tool would send data without protection, although the user has asked for protection.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Final

from kafka_edu.clients.client_config import nearest
from kafka_edu.common.config_def import ConfigException
from kafka_edu.common.errors import KafkaException
from kafka_edu.common.time import SystemTime
from kafka_edu.tools.tool import ToolError, java_class, log_line
from kafka_edu.trace.event import CLIENT, Envelope, Level
from kafka_edu.trace.events.producer import ClientDisconnected
from kafka_edu.trace.tracer import Tracer

Properties = Mapping[str, str]
#: Properties of the Java clients that are left out without a warning, because they name Java
#: classes or buffers of the system.
_LEFT_OUT: Final = frozenset(
    {
        "interceptor.classes",
        "key.deserializer",
        "key.serializer",
        "metrics.recording.level",
        "receive.buffer.bytes",
        "send.buffer.bytes",
        "value.deserializer",
        "value.serializer",
    }
)
_PROTECTION: Final = ("sasl.", "security.", "ssl.")
_PLAINTEXT: Final = "PLAINTEXT"
REPEATED_AFTER_S: Final = 10
_CONFIG_EXCEPTION: Final = "org.apache.kafka.common.config.ConfigException"
_NETWORK_CLIENT: Final = "org.apache.kafka.clients.NetworkClient"


def known_settings(properties: Properties, known: Iterable[str], logger: str) -> dict[str, object]:
    """Return the properties that a client has, or that it refuses because they ask for protection.

    For each other property, print a warning with the most similar setting.
    """
    names = set(known)
    settings: dict[str, object] = {}
    for name, text in properties.items():
        if name in _LEFT_OUT or (name, text.strip()) == ("security.protocol", _PLAINTEXT):
            continue
        if name in names or name.startswith(_PROTECTION):
            settings[name] = text.strip()
        else:
            near = nearest(name, names)
            hint = f" Did you mean {near}?" if near else ""
            said = f"The configuration '{name}' was supplied but isn't a known config.{hint}"
            log_line("WARN", said, logger)
    return settings


def wrong_setting(error: ConfigException) -> ToolError:
    """Return the failure of a tool whose client refuses a setting."""
    return ToolError(_CONFIG_EXCEPTION, str(error))


def java_error(error: KafkaException) -> str:
    """Format a client's error as Java does: its class and its message."""
    return f"{java_class(error)}: {error.message}"


class ConnectionWarnings:
    """Writes a line to standard error for each address that a client cannot reach.

    Each line appears at most once in ten seconds. Give `tracer` to the client. Call `end` before
    the client closes, because the client may still be connecting.
    """

    level = Level.STATE

    def __init__(self) -> None:
        self.tracer = Tracer(CLIENT, SystemTime())
        self.tracer.add_sink(self)
        self._written_us: dict[str, float] = {}

    def end(self) -> None:
        self.tracer.remove_sink(self)

    def accept(self, envelope: Envelope) -> None:
        event = envelope.event
        if not isinstance(event, ClientDisconnected) or event.local:
            return
        now, reason = envelope.mono_us, event.reason
        if now - self._written_us.get(reason, -math.inf) >= REPEATED_AFTER_S * 1_000_000:
            self._written_us[reason] = now
            log_line("WARN", f"[clientId={event.client}] {reason}", _NETWORK_CLIENT)
