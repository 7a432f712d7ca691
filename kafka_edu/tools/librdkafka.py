"""Translate the Java clients' properties for librdkafka, which the performance tools use.

Most of librdkafka's settings have Java's names.
"""

from collections.abc import Mapping
from typing import Final

from confluent_kafka import KafkaException

from kafka_edu.tools.tool import ToolError

_RENAMED: Final = {
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
#: Properties of the Java clients that are ignored, because librdkafka does not have or need them.
_NOT_TAKEN: Final = frozenset(
    {
        "interceptor.classes",
        "key.deserializer",
        "key.serializer",
        "max.block.ms",
        "metric.reporters",
        "value.deserializer",
        "value.serializer",
    }
)


def librdkafka_config(properties: Mapping[str, str]) -> dict[str, str | int | float | bool | None]:
    """Return the settings for librdkafka.

    buffer.memory (bytes) becomes queue.buffering.max.kbytes. librdkafka also has a limit for the
    number of waiting records. buffer.memory does not change that limit.
    """
    config: dict[str, str | int | float | bool | None] = {"log_level": 0}
    for name, value in properties.items():
        if name == "buffer.memory":
            config["queue.buffering.max.kbytes"] = max(1, int(value) // 1024)
        elif name not in _NOT_TAKEN:
            config[_RENAMED.get(name, name)] = value
    return config


def refused(error: KafkaException) -> ToolError:
    """Return the error for a setting that librdkafka refuses."""
    return ToolError("org.apache.kafka.common.config.ConfigException", error.args[0].str())
