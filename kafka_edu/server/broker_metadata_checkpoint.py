"""Read and write meta.properties, which names the broker that owns a log dir, and find the broker's
id (Kafka: BrokerMetadataCheckpoint.scala; book §6.5.1).

    #
    #Thu Nov 26 01:33:44 UTC 2026         # time of writing, in the format of Java's Properties
    version=0
    broker.id=1
    cluster.id=vPeOCWypqUOSepEvx0cbog     # since 2.4; Kafka 2.0 does not write it and ignores it

A broker takes its id from one of three sources, tried in this order: its log dirs, its
configuration, ZooKeeper's /brokers/seqid. Ids from /brokers/seqid are above reserved.broker.max.id
(1000), so that they differ from configured ids. If an id is both stored and configured, the two
must agree. Otherwise the broker does not start.
"""

import posixpath
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, NamedTuple

from kafka_edu.common.files import FileSystem
from kafka_edu.server.config.properties_file import (
    PropertiesError,
    decode_properties,
    format_properties,
    parse_properties,
)

FILE_NAME: Final = "meta.properties"


class BrokerMetadata(NamedTuple):
    """The contents of one meta.properties file: the ids of the broker and of its cluster."""

    broker_id: int
    cluster_id: str | None = None


class InconsistentBrokerIdError(Exception):
    """The log dirs contain different broker ids, or an id that differs from broker.id. The broker
    does not start.

    The error text begins with the name of Kafka's exception, because users search for this name.
    """

    def __str__(self) -> str:
        return f"InconsistentBrokerIdException: {super().__str__()}"


class InconsistentClusterIdError(Exception):
    """A log dir belongs to another cluster (since Kafka 2.4). The broker does not start."""

    def __str__(self) -> str:
        return f"InconsistentClusterIdException: {super().__str__()}"


class BrokerMetadataError(Exception):
    """A meta.properties file is malformed."""


class IdSource(StrEnum):
    CONFIGURED = "configured"
    STORED = "stored"
    GENERATED = "generated"


class BrokerMetadataCheckpoint:
    """Reads and writes the meta.properties of one log dir. The new content is written to a
    temporary file, which is then renamed. So meta.properties is never incomplete.
    """

    def __init__(self, log_dir: str, file_system: FileSystem) -> None:
        self.path = posixpath.join(log_dir, FILE_NAME)
        self._file_system = file_system

    def read(self) -> BrokerMetadata | None:
        """Return the contents, or None if no broker has used this log dir. Raises OSError if the
        file cannot be read, BrokerMetadataError if it is malformed.
        """
        try:
            content = self._file_system.read(self.path)
        except FileNotFoundError:
            return None
        try:
            settings = parse_properties(decode_properties(content))
            version = settings["version"].value
            broker_id = int(settings["broker.id"].value)
        except PropertiesError as error:
            raise BrokerMetadataError(f"{self.path}, line {error.line}: {error}") from error
        except KeyError as error:
            raise BrokerMetadataError(f"{self.path} lacks the key {error}") from error
        except ValueError as error:
            raise BrokerMetadataError(f"{self.path}: broker.id must be a number") from error
        if version != "0":
            raise BrokerMetadataError(f"{self.path}: version {version} is not known, only 0")
        cluster_id = settings.get("cluster.id")
        return BrokerMetadata(broker_id, cluster_id.value if cluster_id else None)

    def write(self, metadata: BrokerMetadata, now_ms: int) -> None:
        """Replace the file. `now_ms` is the wall-clock time in ms. Raises OSError."""
        written = datetime.fromtimestamp(now_ms / 1000, UTC)
        settings = {"version": "0", "broker.id": str(metadata.broker_id)}
        if metadata.cluster_id is not None:
            settings["cluster.id"] = metadata.cluster_id
        self._file_system.write_atomically(
            self.path,
            format_properties(settings, f"\n{written:%a %b %d %H:%M:%S UTC %Y}").encode("ascii"),
        )


def read_broker_metadata(
    log_dirs: Sequence[str],
    file_system: FileSystem,
    on_failure: Callable[[str, OSError], None] | None = None,
) -> dict[str, BrokerMetadata]:
    """Return the contents of each log dir's meta.properties, by log dir. Dirs without the file are
    left out. If a file cannot be read, call `on_failure` with its dir. Without `on_failure` raise
    the OSError.
    """
    stored: dict[str, BrokerMetadata] = {}
    for log_dir in log_dirs:
        try:
            metadata = BrokerMetadataCheckpoint(log_dir, file_system).read()
        except OSError as error:
            if on_failure is None:
                raise
            on_failure(log_dir, error)
        else:
            if metadata is not None:
                stored[log_dir] = metadata
    return stored


def check_cluster_id(stored: Mapping[str, BrokerMetadata], cluster_id: str) -> None:
    """Raise InconsistentClusterIdError if a log dir was written in another cluster."""
    for log_dir, metadata in stored.items():
        if metadata.cluster_id not in (None, cluster_id):
            raise InconsistentClusterIdError(
                f"{log_dir} belongs to the cluster {metadata.cluster_id}, but zookeeper.connect"
                f" leads to the cluster {cluster_id}; correct zookeeper.connect, or give the broker"
                " other log.dirs"
            )


async def settle_broker_id(
    stored: Mapping[str, BrokerMetadata],
    configured_id: int,
    generate: Callable[[], Awaitable[int]] | None,
) -> tuple[int, IdSource]:
    """Return the broker's id and the source of this id. `configured_id` is -1 if broker.id is not
    set. `generate` is None if broker.id.generation.enable is false.

    Raises InconsistentBrokerIdError if the log dirs contain different ids, or if broker.id differs
    from the stored id. These are the two cases in the book.
    """
    stored_ids = sorted({metadata.broker_id for metadata in stored.values()})
    if len(stored_ids) > 1:
        named = ", ".join(
            f"{log_dir} names broker {metadata.broker_id}" for log_dir, metadata in stored.items()
        )
        raise InconsistentBrokerIdError(
            f"the log dirs belong to different brokers: {named}. Two brokers share a folder in"
            " log.dirs, or data of another broker was copied in"
        )
    if stored_ids:
        if configured_id >= 0 and configured_id != stored_ids[0]:
            raise InconsistentBrokerIdError(
                f"broker.id is configured as {configured_id}, but {FILE_NAME} in the log dirs says"
                f" {stored_ids[0]}. For moved data, configure {stored_ids[0]}; for a new broker,"
                " give it empty log.dirs"
            )
        return stored_ids[0], IdSource.STORED if configured_id < 0 else IdSource.CONFIGURED
    if configured_id >= 0:
        return configured_id, IdSource.CONFIGURED
    if generate is None:
        raise InconsistentBrokerIdError(
            "there is no broker.id, none is stored in log.dirs, and broker.id.generation.enable is"
            " false"
        )
    return await generate(), IdSource.GENERATED
