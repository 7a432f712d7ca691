"""The pictures of chapter 01.

They show frames and batches that the broker's own codecs make, and the schemas of these messages.
"""

from collections.abc import Callable, Mapping
from typing import Final

import graphviz
from rich.table import Table
from rich.text import Text

from kafka_edu.common.transport import Part, part_bytes
from kafka_edu.instruments.drawings.figure import BLUE, WHITE, new_figure, table
from kafka_edu.instruments.presenter.script import Picture
from kafka_edu.instruments.wire.decode import decode_request
from kafka_edu.instruments.wire.render import tree_lines
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.api_versions_table import MAX_VERSIONS
from kafka_edu.protocol.fields import Field, StructMeta
from kafka_edu.protocol.headers import encode_request, request_header_version
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from kafka_edu.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_edu.protocol.types import unsigned_varint, varint
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.legacy import build_message_set
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import HEADER_BYTES, build_batch

from ..drawing import COLUMNS, picture

NOW: Final = 1_600_000_000_000
CLIENT: Final = "shop"
#: The request versions of Kafka 2.0, which the book describes.
PRODUCE_VERSION: Final = 6
FETCH_VERSION: Final = 8
PARTITIONS: Final = 1_000
LINES: Final = 100
#: The column in which a field's name begins, to the right of the offset and the bytes.
_HEX_END: Final = 32


def figures() -> Mapping[str, graphviz.Digraph]:
    """Draw the book's numbered figures from the schemas, and return them by name."""
    request_header = (("api_key", "int16"), ("api_version", "int16"), ("correlation_id", "int32"))
    drawn = {
        "figure-6-1": _boxes(
            "Figure 6-1: a request",
            [*_rows((*request_header, ("client_id", "string"))), "request body"],
        ),
        "figure-6-2": _boxes(
            "Figure 6-2: a response", [*_rows((("correlation_id", "int32"),)), "response body"]
        ),
    }
    for number, message, version in (
        ("6-3", ProduceRequest, PRODUCE_VERSION),
        ("6-4", ProduceResponse, PRODUCE_VERSION),
        ("6-5", FetchRequest, FETCH_VERSION),
        ("6-6", FetchResponse, FETCH_VERSION),
    ):
        title = f"Figure {number}: {message.__name__}, version {version}"
        drawn[f"figure-{number}"] = _boxes(title, list(_schema(message, version)))
    return drawn


def _rows(fields: tuple[tuple[str, str], ...]) -> list[str]:
    return [f"{name}: {kind}" for name, kind in fields]


def _schema(struct: StructMeta, version: int, depth: int = 0) -> list[str]:
    """Return a line for each field that this version has. Nested fields are indented."""
    lines = []
    for field in fields_of(struct, version):
        lines.append(f"{'    ' * depth}{field.name}: {field.type_name}")
        if field.struct is not None:
            lines += _schema(field.struct, version, depth + 1)
    return lines


def fields_of(struct: StructMeta, version: int) -> list[Field]:
    """Return the fields of the struct that this version has on the wire."""
    return [field for field in struct.FIELDS if field.versions.has(version)]


def _boxes(title: str, lines: list[str]) -> graphviz.Digraph:
    """Draw each line as a box. Boxes of nested fields are moved to the right."""
    depths = [(len(line) - len(line.lstrip())) // 4 for line in lines]
    rows = []
    for line, depth in zip(lines, depths, strict=True):
        name, colon, kind = line.strip().partition(": ")
        indent = '<td border="0" width="24"></td>' * depth
        colour = BLUE if kind.startswith("[]") or not colon else WHITE
        span = max(depths) - depth + (1 if colon else 2)
        cell = f'bgcolor="{colour}" align="left"'
        if colon:
            words = f'<td {cell} sides="LTB" colspan="{span}"><b>{name}</b></td>'
            words += f'<td {cell} sides="RTB">{kind}</td>'
        else:
            words = f'<td {cell} colspan="{span}"><i>{name}</i></td>'
        rows.append(f"{indent}{words}")
    figure = new_figure("message", title, [(BLUE, "an array")] if max(depths) else ())
    figure.node("message", shape="plaintext", label=table(rows))
    return figure


def _frame(parts: list[Part]) -> bytes:
    return b"".join(map(part_bytes, parts))


def varints() -> Picture:
    """Show numbers as varints: seven bits in each byte, and zigzag for signed numbers."""
    table = Table("number", "unsigned varint", "varint (zigzag)", "int32", box=None)
    names: dict[str, object] = {}
    for number in (1, 63, 64, 150, 300, -1, -300):
        plain = unsigned_varint(number).hex(" ") if number >= 0 else "–"
        zigzag = varint(number).hex(" ")
        table.add_row(f"{number}", plain, zigzag, number.to_bytes(4, "big", signed=True).hex(" "))
        word = f"{'minus_' if number < 0 else ''}{abs(number)}"
        names[f"varint_{word}"] = zigzag.replace(" ", "")
        names[f"bytes_{word}"] = len(varint(number))
        if number == 300:
            names["unsigned_300"] = plain.replace(" ", "")
    return picture(names, table)


def header() -> Picture:
    """Take the smallest request apart: ApiVersions, version 0."""
    frame = _frame(encode_request(ApiVersionsRequest(), 0, 1, CLIENT))
    names = {"hello_bytes": len(frame), "hello_key": int(ApiKey.API_VERSIONS)}
    return picture(names, _tree(frame))


def _tree(frame: bytes, first: str = "", last: str = "") -> Text:
    """Return the frame with each byte's field, as the wire microscope shows it.

    Only a part of the lines is returned: from the line with the words `first` to the line with the
    words `last`.
    """
    lines = [line.text.rstrip() for line in tree_lines(decode_request(frame))]
    begin = next(at for at, line in enumerate(lines) if first in line)
    end = next((at for at, line in enumerate(lines) if last and last in line), len(lines))
    wanted = lines[begin : end + 1]
    if first:  # a nested part loses its indent
        indent = len(wanted[0][_HEX_END:]) - len(wanted[0][_HEX_END:].lstrip())
        wanted = [line[:_HEX_END] + line[_HEX_END:][indent:] for line in wanted]
    return Text("\n".join(line[:COLUMNS] for line in wanted), style="cyan", no_wrap=True)


def versions() -> Picture:
    """Show which versions the client and the broker support, and on which they agree."""
    table = Table("request", "client", "broker 2.0", "broker 2.8", "with 2.0", "with 2.8", box=None)
    client = {ApiKey.PRODUCE: (0, 7), ApiKey.FETCH: (4, 11), ApiKey.METADATA: (0, 9)}
    names: dict[str, object] = {}
    for key, (low, high) in client.items():
        old, new = MAX_VERSIONS[key]
        if old is None:
            continue
        row = [f"{low}-{high}", f"0-{old}", f"0-{new}", str(min(high, old)), str(min(high, new))]
        table.add_row(key.name.title(), *row)
        names[f"agreed_{key.name.lower()}_20"] = min(high, old)
        names[f"agreed_{key.name.lower()}_28"] = min(high, new)
    names["keys_20"] = sum(old is not None for old, _ in MAX_VERSIONS.values())
    names["keys_28"] = len(MAX_VERSIONS)
    return picture(names, table)


def _produce() -> tuple[bytes, bytes]:
    """Return a Produce request of version 6 with one record, and the batch in this request."""
    batch = build_batch([Record(0, NOW, b"k", b"hello")])
    partition = PartitionProduceData(index=0, records=batch)
    request = ProduceRequest(
        acks=-1,
        timeout_ms=30_000,
        topic_data=[TopicProduceData(name="web", partition_data=[partition])],
    )
    return _frame(encode_request(request, PRODUCE_VERSION, 7, CLIENT)), batch


def produce_frame() -> Picture:
    """Take a Produce request of version 6 apart, down to its batch (figure 6-3)."""
    frame, batch = _produce()
    names = {
        "produce_bytes": len(frame),
        "batch_bytes": len(batch),
        "around_batch": len(frame) - len(batch),
        "header_version": request_header_version(ApiKey.PRODUCE, PRODUCE_VERSION),
    }
    return picture(names, _tree(frame, last="length 74"))


def batch_bytes() -> Picture:
    """Take apart the record batch of the Produce request of version 6."""
    frame, batch = _produce()
    names = {"batch_header": HEADER_BYTES, "record_bytes": len(batch) - HEADER_BYTES}
    return picture(names, _tree(frame, first=" batch 1 record"))


def batches() -> Picture:
    """Compare the sizes of 100 records in one batch, in 100 batches, and in the older format."""
    records = [Record(i, NOW + i, None, b"x" * 20) for i in range(LINES)]
    one = build_batch(records)
    alone = sum(len(build_batch([record._replace(offset=0)])) for record in records)
    old = len(build_message_set(records, magic=1))
    payload = sum(len(record.value or b"") for record in records)
    table = Table("100 records of 20 bytes", "bytes", "a record", box=None)
    for name, size in (
        ("the values alone", payload),
        ("one batch of format v2", len(one)),
        ("format v1, one set", old),
        ("100 batches of format v2", alone),
    ):
        table.add_row(name, f"{size:,}", f"{size / LINES:.1f}")
    names = {"payload": payload, "one_batch": len(one), "old_set": old, "alone": alone}
    first = len(build_batch(records[:1]))
    names["first_record"] = first
    names["next_record"] = len(build_batch(records[:2])) - first
    return picture(names, table)


def compression() -> Picture:
    """Compress 100 lines of a web log together, and each line alone."""
    lines = [
        f'10.0.0.{i % 50} - - [10/Oct/2018:13:55:{i % 60:02} +0000] "GET /page/{i % 7} HTTP/1.1"'
        f" 200 {2000 + i * 13}".encode()
        for i in range(LINES)
    ]
    records = [Record(i, NOW + i, None, line) for i, line in enumerate(lines)]
    table = Table("codec", "one batch", "100 batches", box=None)
    names: dict[str, object] = {}
    for codec in CompressionType:
        together = len(build_batch(records, compression=codec))
        alone = sum(
            len(build_batch([record._replace(offset=0)], compression=codec)) for record in records
        )
        table.add_row(codec.name.lower(), f"{together:,}", f"{alone:,}")
        names[f"together_{codec.name.lower()}"] = together
        names[f"alone_{codec.name.lower()}"] = alone
    return picture(names, table)


def fetch_sessions() -> Picture:
    """Measure a full fetch of 1,000 partitions, and an incremental fetch (the book's 24 KB)."""
    wanted = [
        FetchPartition(partition=i, fetch_offset=0, log_start_offset=0, partition_max_bytes=1 << 20)
        for i in range(PARTITIONS)
    ]

    def size(topics: list[FetchTopic], forgotten: list[ForgottenTopic], epoch: int) -> int:
        request = FetchRequest(
            replica_id=1,
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=10 << 20,
            session_id=0 if epoch == 0 else 4711,
            session_epoch=epoch,
            topics=topics,
            forgotten_topics_data=forgotten,
        )
        return len(_frame(encode_request(request, FETCH_VERSION, 1, "broker-1-fetcher-0")))

    full = size([FetchTopic(topic="web", partitions=wanted)], [], 0)
    steady = size([], [], 2)
    moved = size([FetchTopic(topic="web", partitions=wanted[:3])], [], 3)
    forgets = size([], [ForgottenTopic(topic="web", partitions=[7])], 4)
    table = Table("fetch", "bytes", box=None)
    for name, count in (
        (f"full: {PARTITIONS:,} partitions", full),
        ("incremental: nothing has changed", steady),
        ("incremental: 3 partitions have moved", moved),
        ("incremental: 1 partition is forgotten", forgets),
    ):
        table.add_row(name, f"{count:,}")
    names = {
        "full": full,
        "steady": steady,
        "moved_3": moved,
        "forgets_1": forgets,
        "a_partition": (full - steady) // PARTITIONS,
    }
    return picture(names, table)


def history() -> Picture:
    """Show which version of Fetch introduced which field."""
    names: dict[str, object] = {}
    table = Table("version", "new in the request", box=None)
    first = fields_of(FetchRequest, 0)
    table.add_row("0", ", ".join(field.name for field in first))
    for version in range(1, FETCH_VERSION + 1):
        new = [
            field.name
            for struct in (FetchRequest, FetchPartition)
            for field in struct.FIELDS
            if field.versions.lowest == version
        ]
        table.add_row(str(version), ", ".join(new) or "–")
        for name in new:
            names[f"since_{name}"] = version
    return picture(names, table)


DRAWINGS: Final[Mapping[str, Callable[[], Picture]]] = {
    "varints": varints,
    "header": header,
    "versions": versions,
    "produce-frame": produce_frame,
    "batch-bytes": batch_bytes,
    "batches": batches,
    "compression": compression,
    "fetch-sessions": fetch_sessions,
    "history": history,
}
