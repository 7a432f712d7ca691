"""The settings of one log: the topic's own values, and the broker's defaults for all other settings
(Kafka: LogConfig.scala; spec A2).

The keys are topic keys, such as `segment.bytes`. If a topic does not set a key, the value comes
from a key of the broker. The broker's key is often the topic key with `log.` in front, such as
`log.segment.bytes`, but not always: the key for `max.message.bytes` is `message.max.bytes`. The
default values in this module are those of Kafka 2.0.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from kafka_edu.common.api_version import ProtocolVersion, record_version
from kafka_edu.common.config_def import (
    MAX_LONG,
    ConfigDef,
    ConfigException,
    ConfigKey,
    ConfigType,
    ConfigValue,
    ConfigValues,
    Gap,
    ListOf,
    OneOf,
    Range,
)
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.record_batch import MIN_LEGACY_BYTES

HOUR_MS: Final = 3600 * 1000
DAY_MS: Final = 24 * HOUR_MS
DELETE: Final = "delete"
COMPACT: Final = "compact"
PRODUCER_COMPRESSION: Final = "producer"
CODECS: Final = {
    "uncompressed": CompressionType.NONE,
    "zstd": CompressionType.ZSTD,
    "lz4": CompressionType.LZ4,
    "snappy": CompressionType.SNAPPY,
    "gzip": CompressionType.GZIP,
}

_BOOLEAN, _STRING, _INT, _LONG, _DOUBLE, _LIST = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.DOUBLE,
    ConfigType.LIST,
)


class ThrottledReplicas(NamedTuple):
    """The value of a key such as leader.replication.throttled.replicas: `*`, or a list of
    partition:broker. Empty items are allowed, because a client that appends to an empty list
    creates an empty item.
    """

    key: str

    def refusal(self, value: ConfigValue) -> str:
        allowed = isinstance(value, tuple) and (
            value == ("*",) or all(re.fullmatch(r"([0-9]+:[0-9]+)?", item) for item in value)
        )
        return (
            ""
            if allowed
            else (
                f"{self.key} must be the literal '*' or a list of replicas in the following format:"
                " [partitionId]:[brokerId],[partitionId]:[brokerId],..."
            )
        )


NO_PREALLOCATION: Final = "segments grow as they are written"

TOPIC_CONFIG: Final = ConfigDef(
    [
        ConfigKey(
            "cleanup.policy",
            _LIST,
            (DELETE,),
            ListOf((COMPACT, DELETE), empty=True),
            "delete old segments, keep only each key's last value, or both",
        ),
        ConfigKey(
            "compression.type",
            _STRING,
            PRODUCER_COMPRESSION,
            OneOf((*CODECS, PRODUCER_COMPRESSION)),
            "codec on disk; producer: the producer's",
        ),
        ConfigKey(
            "delete.retention.ms",
            _LONG,
            DAY_MS,
            Range(0),
            "how long a tombstone stays in a compacted topic",
        ),
        ConfigKey(
            "file.delete.delay.ms",
            _LONG,
            60_000,
            Range(0),
            "how long a segment's files are kept under the name .deleted",
        ),
        ConfigKey(
            "flush.messages",
            _LONG,
            MAX_LONG,
            Range(0),
            "force the log to the disk after this number of messages",
        ),
        ConfigKey(
            "flush.ms", _LONG, MAX_LONG, Range(0), "force the log to the disk after this time"
        ),
        ConfigKey(
            "follower.replication.throttled.replicas",
            _LIST,
            (),
            ThrottledReplicas("follower.replication.throttled.replicas"),
            "replicas whose fetching is throttled, partition:broker or *",
        ),
        ConfigKey(
            "index.interval.bytes",
            _INT,
            4096,
            Range(0),
            "bytes of batches between two entries of the offset index",
        ),
        ConfigKey(
            "leader.replication.throttled.replicas",
            _LIST,
            (),
            ThrottledReplicas("leader.replication.throttled.replicas"),
            "replicas whose serving is throttled, partition:broker or *",
        ),
        ConfigKey(
            "max.compaction.lag.ms",
            _LONG,
            MAX_LONG,
            Range(1),
            "a record is compacted at the latest after this time",
        ),
        ConfigKey(
            "max.message.bytes",
            _INT,
            1_000_012,
            Range(0),
            "maximum size of a record batch, compressed if the producer compresses",
        ),
        ConfigKey(
            "message.downconversion.enable",
            _BOOLEAN,
            True,
            None,
            "convert to older formats for older consumers",
        ),
        ConfigKey(
            "message.format.version",
            _STRING,
            "2.0-IV1",
            ProtocolVersion(),
            "the release whose message format is stored: v0, v1 from 0.10.0, v2 from 0.11.0",
        ),
        ConfigKey(
            "message.timestamp.difference.max.ms",
            _LONG,
            MAX_LONG,
            Range(0),
            "how far a producer's timestamp may be from the broker's clock",
        ),
        ConfigKey(
            "message.timestamp.type",
            _STRING,
            "CreateTime",
            OneOf(("CreateTime", "LogAppendTime")),
            "the clock that sets a record's timestamp: the producer's or the broker's",
        ),
        ConfigKey(
            "min.cleanable.dirty.ratio",
            _DOUBLE,
            0.5,
            Range(0, 1),
            "share of a log that must be dirty before the log is compacted",
        ),
        ConfigKey(
            "min.compaction.lag.ms",
            _LONG,
            0,
            Range(0),
            "a record is not compacted before this time",
        ),
        ConfigKey(
            "min.insync.replicas", _INT, 1, Range(1), "replicas that must be in sync for acks=all"
        ),
        ConfigKey(
            "preallocate",
            _BOOLEAN,
            False,
            None,
            "reserve the full size of a new segment on disk at once",
            Gap(NO_PREALLOCATION, (False,)),
        ),
        ConfigKey(
            "retention.bytes",
            _LONG,
            -1,
            None,
            "delete the oldest segments while the log is larger; -1: no limit",
        ),
        ConfigKey(
            "retention.ms",
            _LONG,
            7 * DAY_MS,
            Range(-1),
            "delete segments whose last record is older; -1: never",
        ),
        ConfigKey(
            "segment.bytes",
            _INT,
            1024**3,
            Range(MIN_LEGACY_BYTES),
            "roll when a segment would become larger",
        ),
        ConfigKey(
            "segment.index.bytes",
            _INT,
            10 * 1024**2,
            Range(4),
            "maximum size of each index of the active segment; roll when it is full",
        ),
        ConfigKey(
            "segment.jitter.ms",
            _LONG,
            0,
            Range(0),
            "random part of segment.ms, so that segments do not all roll at once",
        ),
        ConfigKey(
            "segment.ms",
            _LONG,
            7 * DAY_MS,
            Range(1),
            "roll when a segment's records span more time",
        ),
        ConfigKey(
            "unclean.leader.election.enable",
            _BOOLEAN,
            False,
            None,
            "elect a leader that is not in sync rather than none; records may be lost",
        ),
    ]
)


@dataclass(frozen=True, slots=True)
class LogConfig:
    """All settings of one log, converted to Python values by `parse`. Sizes are in bytes, times in
    ms.
    """

    values: ConfigValues
    """All values by key, as DescribeConfigs returns them."""
    segment_bytes: int
    segment_ms: int
    segment_jitter_ms: int
    segment_index_bytes: int
    flush_messages: int
    flush_ms: int
    retention_bytes: int
    retention_ms: int
    max_message_bytes: int
    index_interval_bytes: int
    file_delete_delay_ms: int
    delete_retention_ms: int
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    min_cleanable_dirty_ratio: float
    delete: bool
    compact: bool
    unclean_leader_election_enable: bool
    min_insync_replicas: int
    compression: CompressionType | None
    """The codec with which batches are stored; None means the producer's codec."""
    message_timestamp_difference_max_ms: int
    log_append_time: bool
    """Whether message.timestamp.type is LogAppendTime."""
    message_downconversion_enable: bool
    record_version: int
    """The format version of stored messages (0, 1 or 2), from message.format.version."""
    leader_replication_throttled_replicas: tuple[str, ...]
    follower_replication_throttled_replicas: tuple[str, ...]
    """Items `partition:broker`, or `*`: the replicas whose replication is throttled."""

    @property
    def max_segment_ms(self) -> int:
        """Return the longest time in ms until the active segment rolls.

        This is segment.ms, or for a compacted topic max.compaction.lag.ms if that is less, because
        records in the active segment are not compacted (KIP-354).
        """
        if self.compact and self.max_compaction_lag_ms > 0:
            return min(self.segment_ms, self.max_compaction_lag_ms)
        return self.segment_ms

    @staticmethod
    def parse(given: Mapping[str, ConfigValue] | None = None) -> "LogConfig":
        """Return the configuration with the topic keys of `given`, and Kafka's defaults for all
        other keys.

        Raises ConfigException, even for unknown keys.
        """
        given = given or {}
        for name in TOPIC_CONFIG.unknown(given):
            raise ConfigException(name, f"Unknown topic config name: {name}")
        return _of(TOPIC_CONFIG.parse(given))

    def with_overrides(self, given: Mapping[str, ConfigValue]) -> "LogConfig":
        """Return the configuration of a topic. The values in `given` are the topic's own. For all
        other keys the values of this object are used, which are the broker's defaults.

        Raises ConfigException.
        """
        return LogConfig.parse({**self.values, **given}) if given else self


def _of(v: ConfigValues) -> LogConfig:
    if v.get_int("min.compaction.lag.ms") > v.get_int("max.compaction.lag.ms"):
        key, least = "max.compaction.lag.ms", v.get_int("min.compaction.lag.ms")
        raise ConfigException(
            key,
            f"Invalid value {v[key]} for configuration {key}: the value must be at least"
            f" min.compaction.lag.ms, {least}",
        )
    policy = v.get_list("cleanup.policy")
    return LogConfig(
        values=v,
        segment_bytes=v.get_int("segment.bytes"),
        segment_ms=v.get_int("segment.ms"),
        segment_jitter_ms=v.get_int("segment.jitter.ms"),
        segment_index_bytes=v.get_int("segment.index.bytes"),
        flush_messages=v.get_int("flush.messages"),
        flush_ms=v.get_int("flush.ms"),
        retention_bytes=v.get_int("retention.bytes"),
        retention_ms=v.get_int("retention.ms"),
        max_message_bytes=v.get_int("max.message.bytes"),
        index_interval_bytes=v.get_int("index.interval.bytes"),
        file_delete_delay_ms=v.get_int("file.delete.delay.ms"),
        delete_retention_ms=v.get_int("delete.retention.ms"),
        min_compaction_lag_ms=v.get_int("min.compaction.lag.ms"),
        max_compaction_lag_ms=v.get_int("max.compaction.lag.ms"),
        min_cleanable_dirty_ratio=v.get_float("min.cleanable.dirty.ratio"),
        delete=DELETE in policy,
        compact=COMPACT in policy,
        unclean_leader_election_enable=v.get_bool("unclean.leader.election.enable"),
        min_insync_replicas=v.get_int("min.insync.replicas"),
        compression=CODECS.get(v.get_string("compression.type")),
        message_timestamp_difference_max_ms=v.get_int("message.timestamp.difference.max.ms"),
        log_append_time=v.get_string("message.timestamp.type") == "LogAppendTime",
        message_downconversion_enable=v.get_bool("message.downconversion.enable"),
        record_version=record_version(v.get_string("message.format.version")),
        leader_replication_throttled_replicas=v.get_list("leader.replication.throttled.replicas"),
        follower_replication_throttled_replicas=v.get_list(
            "follower.replication.throttled.replicas"
        ),
    )
