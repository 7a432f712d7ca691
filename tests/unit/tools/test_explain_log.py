"""`dump-log --explain` explains each byte of a file exactly once, whatever the file holds."""

import itertools
import random
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_edu.record.compression import CompressionType
from kafka_edu.record.memory_records import build_records
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.tools.dump_log import dump_log
from kafka_edu.tools.explain_log import Heading, Line, Piece, explain
from kafka_edu.tools.explained_lines import COLUMNS, text_of

GOLDEN = Path(__file__).parents[2] / "golden" / "log"
NOW = 1_700_000_000_000
LOG = f"{7:020d}.log"
RECORDS = [
    Record(7, NOW, b"key", b"value", (("name", b"1"), ("empty", b""), ("null", None))),
    Record(8, NOW + 300, None, b"x" * 100),
    Record(9, NOW - 70_000, "Schlüssel".encode(), None),
]


def show(raw: bytes | None) -> str:
    return "null" if raw is None else raw.decode(errors="replace")


def explained(
    path: str, data: bytes, *, deep: bool = True, offset: int | None = None
) -> list[Line]:
    return list(explain(path, memoryview(data), deep=deep, show=show, offset=offset))


def check(path: str, data: bytes) -> None:
    """Check that the pieces are the file's bytes, each once and in order, and that the text fits
    and can be printed.
    """
    for deep in (False, True):
        lines = explained(path, data, deep=deep)
        pieces = [line for line in lines if isinstance(line, Piece) and line.depth == 0]
        at = 0
        for piece in pieces:
            assert piece.position == at
            assert piece.raw
            assert piece.field
            assert piece.sentence.endswith(".")
            at += len(piece.raw)
        assert b"".join(piece.raw for piece in pieces) == data
        for row in itertools.chain.from_iterable(map(text_of, lines)):
            assert len(row) <= COLUMNS
            assert row.isprintable()


def of_format(magic: int, codec: CompressionType) -> bytes:
    return build_records(RECORDS, magic, codec) * 2


LOGS = {
    f"v{magic}-{codec.name}": of_format(magic, codec)
    for magic in range(3)
    for codec in CompressionType
    if magic == 2 or codec is not CompressionType.ZSTD
} | {
    "mixed": b"".join(of_format(magic, CompressionType.GZIP) for magic in range(3)),
    "control": (GOLDEN / "transactions" / f"{5:020d}.log").read_bytes(),
    "producer": build_batch(RECORDS, producer_id=5, producer_epoch=2, base_sequence=2**31 - 2),
    "empty": b"",
}


@pytest.mark.parametrize("name", LOGS)
def test_each_byte_of_a_log_once(name: str) -> None:
    check(LOG, LOGS[name])


@pytest.mark.parametrize("name", LOGS)
def test_each_byte_of_a_damaged_log_once(name: str) -> None:
    chance = random.Random(name)
    data = LOGS[name]
    for _ in range(60 if data else 0):
        changed = bytearray(data[: chance.randrange(1, len(data) + 1)])
        for _ in range(chance.randrange(4)):
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        check(LOG, bytes(changed))


@pytest.mark.parametrize("suffix", ["index", "timeindex", "txnindex", "snapshot"])
@pytest.mark.parametrize("folder", ["transactions", "running"])
def test_each_byte_of_the_other_files_once(folder: str, suffix: str) -> None:
    paths = sorted((GOLDEN / folder).glob(f"*.{suffix}"))
    assert paths or suffix == "txnindex" or folder == "running"
    for path in paths:
        data = path.read_bytes()
        for content in (data, data + b"abc", data[: len(data) // 2 + 1], bytes(len(data)), b""):
            check(path.name, content)


def values(lines: Sequence[Line], depth: int = 0) -> list[tuple[str, str]]:
    return [(p.field, p.value) for p in lines if isinstance(p, Piece) and p.depth == depth]


def test_the_fields_of_a_batch_and_of_its_records() -> None:
    data = build_batch(
        RECORDS, producer_id=5, producer_epoch=2, base_sequence=9, is_transactional=True
    )
    found = values(explained(LOG, data))
    assert [name for name, _ in found[:13]] == [
        "baseOffset",
        "batchLength",
        "partitionLeaderEpoch",
        "magic",
        "crc",
        "attributes",
        "lastOffsetDelta",
        "baseTimestamp",
        "maxTimestamp",
        "producerId",
        "producerEpoch",
        "baseSequence",
        "recordsCount",
    ]
    assert dict(found[:13])["baseOffset"] == "7"
    assert dict(found[:13])["crc"].endswith("(right)")
    assert dict(found[:13])["attributes"] == "0x0010, codec NONE, CreateTime, transactional"
    assert dict(found[:13])["maxTimestamp"] == f"{NOW + 300} (2023-11-14 22:13:20.300 UTC)"
    assert found[13:] == [
        ("length", "34"),
        ("attributes", "0"),
        ("timestampDelta", f"0: {NOW} (2023-11-14 22:13:20.000 UTC)"),
        ("offsetDelta", "0: offset 7"),
        ("keyLength", "3"),
        ("key", "key"),
        ("valueLength", "5"),
        ("value", "value"),
        ("headersCount", "3"),
        ("headerKeyLength", "4"),
        ("headerKey", "name"),
        ("headerValueLength", "1"),
        ("headerValue", "1"),
        ("headerKeyLength", "5"),
        ("headerKey", "empty"),
        ("headerValueLength", "0"),
        ("headerKeyLength", "4"),
        ("headerKey", "null"),
        ("headerValueLength", "-1 (null)"),
        ("length", "108"),
        ("attributes", "0"),
        ("timestampDelta", f"300: {NOW + 300} (2023-11-14 22:13:20.300 UTC)"),
        ("offsetDelta", "1: offset 8"),
        ("keyLength", "-1 (null)"),
        ("valueLength", "100"),
        ("value", "x" * 100),
        ("headersCount", "0"),
        ("length", "18"),
        ("attributes", "0"),
        ("timestampDelta", f"-70000: {NOW - 70_000} (2023-11-14 22:12:10.000 UTC)"),
        ("offsetDelta", "2: offset 9"),
        ("keyLength", "10"),
        ("key", "Schlüssel"),
        ("valueLength", "-1 (null)"),
        ("headersCount", "0"),
    ]


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_compressed_records_are_explained_in_what_they_are_without_compression(magic: int) -> None:
    lines = explained(LOG, build_records(RECORDS, magic, CompressionType.LZ4))
    inner = values(lines, 1)
    assert ("value", "x" * 100) in inner
    assert [value for field, value in inner if field == "key"] == ["key", "Schlüssel"]
    (heading,) = [
        line.text for line in lines if isinstance(line, Heading) and "decompr" in line.text
    ]
    size = sum(len(p.raw) for p in lines if isinstance(p, Piece) and p.depth == 1)
    assert heading == f"decompressed: {size} bytes"


def test_a_marker() -> None:
    found = values(explained(LOG, LOGS["control"]))
    assert ("type", "0 (ABORT)") in found
    assert ("type", "1 (COMMIT)") in found
    assert ("coordinatorEpoch", "0") in found


def test_what_is_wrong_is_said() -> None:
    data = bytearray(LOGS["v2-NONE"])
    data[-1] ^= 1
    assert any("wrong: it is" in value for _, value in values(explained(LOG, bytes(data))))
    torn = explained(LOG, bytes(data[:-5]))[-1]
    assert isinstance(torn, Piece)
    assert (torn.field, torn.sentence) == ("invalidBytes", "The file ends inside of a batch here.")
    zeros = explained(LOG, LOGS["v2-NONE"] + bytes(100))[-1]
    assert isinstance(zeros, Piece)
    assert zeros.sentence.startswith("No batch begins here: Found record size 0")


def run(tmp_path: Path, data: bytes, name: str, *arguments: str) -> tuple[str, str, int]:
    (tmp_path / name).write_bytes(data)
    result = CliRunner().invoke(
        dump_log, ["--files", str(tmp_path / name), "--explain", *arguments]
    )
    return result.stdout.replace(str(tmp_path), "FOLDER"), result.stderr, result.exit_code


def test_the_command_explains_one_batch(tmp_path: Path) -> None:
    data = b"".join(
        build_batch([r._replace(offset=r.offset + 3 * n) for r in RECORDS]) for n in range(3)
    )
    out, err, code = run(tmp_path, data, LOG, "--offset", "11")
    assert (err, code) == ("", 0)
    lines = out.splitlines()
    assert lines[0] == f"Explaining FOLDER/{LOG}"
    assert lines[1] == "── batch 1, offsets 10 to 12, 225 bytes"
    assert len([line for line in lines if line.startswith("──")]) == 1
    assert "     225  00 00 00 00 00 00 00 0a  baseOffset = 10" in lines
    assert "records = 164 bytes, not compressed" in out
    assert "value = 5 bytes" in run(tmp_path, data, LOG, "--deep-iteration")[0]
    assert "value = value" in run(tmp_path, data, LOG, "--print-data-log")[0]
    _, err, _ = run(tmp_path, data, LOG, "--offset", "99")
    assert err == "No batch holds offset 99: the last one ends at 15.\n"


def test_the_command_explains_the_entry_that_a_look_up_takes(tmp_path: Path) -> None:
    data = struct.pack(">6i", 2, 0, 5, 225, 8, 450)
    out, _, _ = run(tmp_path, data, f"{7:020d}.index", "--offset", "13")
    assert "relativeOffset = 5: offset 12" in out
    assert out.count("──") == 1
    _, err, _ = run(tmp_path, data, f"{7:020d}.index", "--offset", "8")
    assert err.startswith("No entry is at or below offset 8")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--offset", "3"], "--offset needs --explain"),
        (["--explain", "--verify-index-only"], "--explain shows a file"),
    ],
)
def test_options_that_do_not_go_together(arguments: list[str], why: str) -> None:
    result = CliRunner().invoke(dump_log, ["--files", LOG, *arguments])
    assert result.exit_code == 2
    assert why in result.stderr
