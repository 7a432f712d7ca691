"""The Java clients' properties for librdkafka, on which the performance tools stand: most of its
settings bear Java's names.
"""

from collections.abc import Mapping
from typing import Final

from confluent_kafka import KafkaException

from kafka_edu.tools.tool import ToolError

_RENAMED: Final = {
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
#: Without a counterpart, or of no meaning to a client without Java classes.
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
    """Its settings. buffer.memory, in bytes, is queue.buffering.max.kbytes there, and the number of
    records that may wait is left to it.
    """
    config: dict[str, str | int | float | bool | None] = {"log_level": 0}
    for name, value in properties.items():
        if name == "buffer.memory":
            config["queue.buffering.max.kbytes"] = max(1, int(value) // 1024)
        elif name not in _NOT_TAKEN:
            config[_RENAMED.get(name, name)] = value
    return config


def refused(error: KafkaException) -> ToolError:
    """librdkafka does not take a setting."""
    return ToolError("org.apache.kafka.common.config.ConfigException", error.args[0].str())
