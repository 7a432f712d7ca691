"""Write a copy of the metadata to a file, and read it back (book §6.5.2: copy once, play back).

A copy can be played back without a connection to its cluster, even if the cluster no longer exists.
The file is JSON with the fields of Metadata's schema, so people can read and change it. For
example, if you change a broker's host in the file, clients see the effect of a wrong
advertised.listeners, without a cluster that has this fault.
"""

import json
from typing import Final

from kafka_edu.clients.proxy.metadata_copy import READ_VERSION, MetadataCopy
from kafka_edu.common.errors import KafkaException
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.api_versions_table import VersionTable
from kafka_edu.protocol.message_json import MessageJsonError, from_json, to_json
from kafka_edu.protocol.messages.metadata import MetadataResponse
from kafka_edu.protocol.types import ProtocolError

_INT16_MAX: Final = 0x7FFF
FORMAT: Final = "kafka-edu metadata copy, format 1"


class RecordingError(Exception):
    """The file is not a recorded copy. The text says what is wrong, and where."""


def write_recording(copy: MetadataCopy) -> bytes:
    """Return the contents of a recording file for this copy."""
    document = {
        "format": FORMAT,
        "source": copy.source,
        "taken_at_ms": copy.taken_at_ms,
        "metadata_version": copy.version,
        "api_versions": {key.name: list(versions) for key, versions in sorted(copy.apis.items())},
        "metadata": to_json(copy.response),
    }
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def read_recording(data: bytes) -> MetadataCopy:
    """Return the copy in a recording file. Raises RecordingError if the file contains none."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"it is not JSON: {error}") from error
    match document:
        case {
            "format": str(form),
            "source": str(source),
            "taken_at_ms": int(taken_at_ms),
            "metadata_version": int(version),
            "api_versions": dict(apis),
            "metadata": metadata,
        } if form == FORMAT:
            pass
        case _:
            raise RecordingError(
                f'it must be an object with "format": "{FORMAT}", source, taken_at_ms,'
                " metadata_version, api_versions and metadata"
            )
    if not MetadataResponse.VALID.has(version):
        raise RecordingError(f"metadata_version: {version} is not one of {MetadataResponse.VALID}")
    try:
        response = from_json(MetadataResponse, metadata, "metadata")
        response.encode(
            READ_VERSION
        )  # this version has every field, so a value that fits here fits everywhere
    except (MessageJsonError, ProtocolError, KafkaException) as error:
        raise RecordingError(str(error)) from error
    return MetadataCopy(response, _api_versions(apis), version, source, taken_at_ms)


def _api_versions(document: dict[object, object]) -> VersionTable:
    table: dict[ApiKey, tuple[int, int]] = {}
    for name, versions in document.items():
        match versions:
            case [int(low), int(high)] if (
                0 <= low <= high <= _INT16_MAX and name in ApiKey.__members__
            ):
                table[ApiKey[str(name)]] = (low, high)
            case _:
                raise RecordingError(
                    f"api_versions.{name}: must be the name of an API and [lowest, highest], not"
                    f" {versions!r}"
                )
    return table
