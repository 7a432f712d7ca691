"""The history of each message: which fields each version added, dropped or changed.

The fields come from our schemas. A test compares the schemas with the messages of Apache Kafka
2.8.2. NOTES holds the changes of meaning that no field shows. A KIP is named only if Kafka's own
definition of the message names it (clients/src/main/resources/common/message in Kafka's sources),
or if our schema names it for the field.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kafka_edu.instruments.wire.words import api_name
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.api_versions_table import MAX_VERSIONS
from kafka_edu.protocol.fields import Field, StructMeta
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ArrayType

_BEFORE_THROTTLING: Final = "Over a quota, the broker answers first and then mutes the client."
_STORAGE_ERROR: Final = "The answer may hold the error KAFKA_STORAGE_ERROR."

#: What a version changes without a new field, according to Kafka's own definitions.
NOTES: Final[Mapping[tuple[ApiKey, int], str]] = {
    (ApiKey.PRODUCE, 3): "Records are batches of message format v2.",
    (ApiKey.PRODUCE, 4): _STORAGE_ERROR,
    (ApiKey.PRODUCE, 7): "Records may be compressed by zstd (KIP-110).",
    (ApiKey.FETCH, 2): "Records may have message format v1.",
    (ApiKey.FETCH, 3): "The order of the partitions counts: the first are served first.",
    (ApiKey.FETCH, 4): "Records may have message format v2.",
    (ApiKey.FETCH, 6): _STORAGE_ERROR,
    (ApiKey.FETCH, 8): _BEFORE_THROTTLING,
    (ApiKey.FETCH, 10): "Records may be compressed by zstd (KIP-110).",
    (ApiKey.LIST_OFFSETS, 1): "One offset a partition is returned, not a list.",
    (ApiKey.METADATA, 1): "Null asks for all topics, an empty array for none.",
    (ApiKey.METADATA, 6): _BEFORE_THROTTLING,
    (ApiKey.METADATA, 11): "DescribeCluster returns the cluster's operations instead (KIP-700).",
    (ApiKey.OFFSET_FETCH, 1): "Offsets come from __consumer_offsets, not from ZooKeeper.",
    (ApiKey.OFFSET_FETCH, 2): "Null asks for the offsets of all topics.",
    (ApiKey.JOIN_GROUP, 4): "A new member gets its id first and joins again with it (KIP-394).",
    (ApiKey.API_VERSIONS, 2): _BEFORE_THROTTLING,
    (ApiKey.API_VERSIONS, 3): (
        "The response's header is not flexible, so that any client can read it. A broker that does"
        " not know the version answers with the versions that it knows (KIP-511)."
    ),
    (ApiKey.CREATE_TOPICS, 4): "Partitions and replication factor may be left out (KIP-464).",
    (ApiKey.DELETE_TOPICS, 5): (
        "The answer may be THROTTLING_QUOTA_EXCEEDED (KIP-599)."
    ),
    (ApiKey.INIT_PRODUCER_ID, 4): "The answer may hold the error PRODUCER_FENCED.",
    (ApiKey.LEAVE_GROUP, 3): "Several members may leave in one request.",
}  # fmt: skip


class FieldChange(NamedTuple):
    """A field that one version added, dropped, or allowed to be null."""

    message: str
    """The message with the field: `request` or `response`."""
    path: str
    change: str
    """The kind of change: `added`, `dropped` or `may be null`."""
    type: str
    doc: str
    is_tagged: bool


class VersionChange(NamedTuple):
    """One version of an API, and how it differs from the version before."""

    key: ApiKey
    version: int
    release: str
    """The Kafka release: `2.0` if it already has this version, else `2.8`."""
    is_first_flexible: bool
    note: str
    fields: tuple[FieldChange, ...]

    @property
    def kips(self) -> tuple[str, ...]:
        """Return the KIPs that a source names for this version."""
        text = " ".join([self.note, *(f.doc for f in self.fields if f.change == "added")])
        found = re.findall(r"KIP-\d+", text)
        if self.is_first_flexible:
            found.append("KIP-482")
        return tuple(sorted(set(found), key=lambda kip: int(kip[4:])))

    @property
    def is_same(self) -> bool:
        """Return whether only the version number differs from the version before."""
        return not (self.fields or self.note or self.is_first_flexible)


def history(key: ApiKey) -> list[VersionChange]:
    """Return all versions of an API, oldest first."""
    pair = REGISTRY[key]
    of_2_0 = MAX_VERSIONS[key][0]
    return [
        VersionChange(
            key=key,
            version=version,
            release="2.0" if of_2_0 is not None and version <= of_2_0 else "2.8",
            is_first_flexible=version == key.first_flexible,
            note=NOTES.get((key, version), ""),
            fields=tuple(
                change
                for kind, message in (("request", pair.request), ("response", pair.response))
                for change in _changes(kind, message, version)
            ),
        )
        for version in range(pair.min_version, pair.max_version + 1)
    ]


def _changes(kind: str, message: type[Message], version: int) -> Iterator[FieldChange]:
    first = message.VALID.lowest

    def walk(struct: StructMeta, path: str, parent_is_new: bool) -> Iterator[FieldChange]:
        for field in struct.FIELDS:
            here = f"{path}{field.name}"
            change = _change(field, version, first)
            if change == "added" and parent_is_new:
                change = ""
            if change:
                yield FieldChange(
                    message=kind,
                    path=here,
                    change=change,
                    type=field.type_name,
                    doc=field.doc,
                    is_tagged=field.tag is not None,
                )
            if field.struct is not None and field.versions.has(version):
                brackets = "[]" if isinstance(field.wire, ArrayType) else ""
                yield from walk(
                    field.struct, f"{here}{brackets}.", parent_is_new or change == "added"
                )

    yield from walk(message, "", False)


def _change(field: Field, version: int, first: int) -> str:
    lowest, highest = field.versions
    if version == max(lowest, first) and highest >= version:
        return "added"
    if version == highest + 1 and lowest <= highest:
        return "dropped"
    if version == field.nullable.lowest > max(lowest, first) and field.nullable.has(version):
        return "may be null"
    return ""


def history_lines(key: ApiKey) -> list[str]:
    """Return the history of an API as lines of text."""
    pair = REGISTRY[key]
    lines = [f"{api_name(key)}, api key {int(key)}, versions {pair.min_version}-{pair.max_version}"]
    for change in history(key):
        kips = f"  {', '.join(change.kips)}" if change.kips else ""
        since = "" if change.release == "2.0" else "  not in Kafka 2.0"
        lines.append(f"  v{change.version}{kips}{since}")
        if change.is_same:
            lines.append("      the same fields as before")
        if change.is_first_flexible:
            lines.append("      first flexible version: compact lengths and tagged fields")
        if change.note:
            lines.append(f"      {change.note}")
        for field in change.fields:
            lines.append(f"      {field_words(field)}")
    return lines


def field_words(field: FieldChange) -> str:
    """Return a change of a field as text: `request + transactional_id (string): …`."""
    sign = {"added": "+", "dropped": "-", "may be null": "~"}[field.change]
    tagged = ", tagged" if field.is_tagged else ""
    if field.change == "dropped":
        return f"{field.message} {sign} {field.path}"
    if field.change == "may be null":
        return f"{field.message} {sign} {field.path} may be null"
    return f"{field.message} {sign} {field.path} ({field.type}{tagged}): {field.doc}"


def history_json(key: ApiKey) -> dict[str, object]:
    """Return the history of an API as a dictionary, for the option `--json`."""
    return {
        "api": api_name(key),
        "key": int(key),
        "versions": [
            {
                "version": change.version,
                "kafka_2_0": change.release == "2.0",
                "first_flexible": change.is_first_flexible,
                "kips": list(change.kips),
                "note": change.note,
                "fields": [dict(field._asdict()) for field in change.fields],
            }
            for change in history(key)
        ],
    }
