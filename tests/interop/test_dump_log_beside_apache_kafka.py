"""`kafka-edu dump-log` and kafka.tools.DumpLogSegments of Apache Kafka 2.0.1 and 2.8.2 print the
same for the same files, line by line.

Our lines have the form of 2.0.1. For 2.8.2, both outputs are changed into one common form, because
2.8.2 puts `isvalid` last, shows batches next to the records, and reports other
things too.
"""

import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.group.group_records import group_key, offset_key
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.protocol.messages.consumer_protocol import (
    AssignedTopicPartitions,
    ConsumerProtocolAssignment,
)
from kafka_edu.protocol.messages.group_metadata_log import (
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitValue,
)
from kafka_edu.protocol.messages.transaction_log import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.legacy import encode_message
from kafka_edu.record.memory_records import build_records
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import TimestampType, build_batch
from tests.defaults import PRODUCER_ID_EXPIRATION_MS
from tests.interop.external_programs import apache_kafka_jars

pytestmark = pytest.mark.interop

GOLDEN = Path(__file__).parents[1] / "golden" / "log"
NOW = 1_700_000_000_000
CODECS = (CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4)
DECODER = "kafka.serializer"


class Said(NamedTuple):
    out: list[str]
    err: list[str]
    code: int


def records(base: int, count: int, time: int) -> list[Record]:
    return [
        Record(base + i, time + i, None if i == 1 else b"key %d" % (base + i), b"value %d" % i)
        for i in range(count)
    ]


def write_log(folder: Path, release: str, codecs: Sequence[CompressionType]) -> None:
    """Write segments with their indexes, as a broker of this project leaves them."""
    config = LogConfig.parse(
        {
            "message.format.version": release,
            "segment.bytes": "2000",
            "index.interval.bytes": "200",
            "segment.index.bytes": "240",
        }
    )
    log, _ = load_log(
        TopicPartition("t", 0),
        str(folder.parent),
        str(folder),
        OsFileSystem(),
        config,
        now_ms=NOW,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )
    for i in range(40):
        magic, codec = config.record_version, codecs[i % len(codecs)]
        sent = records(0, 1 + i % 3, NOW + 10 * i)
        if magic == 2 and i % 3 == 0:
            sent = [record._replace(headers=(("a", b"1"), ("b", None))) for record in sent]
            data = build_batch(
                sent,
                compression=codec,
                producer_id=100 + i,
                producer_epoch=2,
                base_sequence=2**31 - 2,
            )
        else:
            data = build_records(sent, magic, codec)
        log.append_as_leader(data, 3, NOW)
    log.close()


def with_version(message: Message, version: int) -> bytes:
    return struct.pack(">h", version) + message.encode(version)


def group_records() -> Iterator[Record]:
    tp = TopicPartition("topic", 3)
    committed = OffsetCommitValue(
        offset=42, leader_epoch=-1, metadata="some meta", commit_timestamp=NOW, expire_timestamp=-1
    )
    yield Record(0, NOW, offset_key("group", tp), with_version(committed, 1))
    yield Record(1, NOW, offset_key("group", tp), None)
    assigned = ConsumerProtocolAssignment(
        assigned_partitions=[AssignedTopicPartitions(topic="topic", partitions=[0, 3])],
        user_data=None,
    )
    member = MemberMetadata(
        member_id="m-1",
        client_id="c",
        client_host="/h",
        rebalance_timeout=9,
        session_timeout=8,
        subscription=b"",
        assignment=with_version(assigned, 0),
    )
    for kind, protocol, members in (
        ("consumer", "range", [member]),
        ("consumer", None, []),
        ("connect", "p", [member]),
    ):
        group = GroupMetadataValue(
            protocol_type=kind,
            generation=7,
            protocol=protocol,
            leader=None,
            current_state_timestamp=NOW,
            members=members,
        )
        yield Record(2, NOW, group_key("group"), with_version(group, 2))
    yield Record(5, NOW, group_key("group"), None)


def transaction_records() -> Iterator[Record]:
    key = with_version(TransactionLogKey(transactional_id="tx"), 0)
    for status, partitions in (
        (0, None),
        (1, [PartitionsSchema(topic="t", partition_ids=[0])]),
        (7, []),
        (5, []),
    ):
        value = TransactionLogValue(
            producer_id=5,
            producer_epoch=1,
            transaction_timeout_ms=60_000,
            transaction_status=status,
            transaction_partitions=partitions,
            transaction_last_update_timestamp_ms=NOW,
            transaction_start_timestamp_ms=NOW,
        )
        yield Record(0, NOW, key, with_version(value, 0))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create folders of logs: one for each format, some with transactions and with groups, and some
    that are damaged.
    """
    root = tmp_path_factory.mktemp("logs")
    for name in ("clean", "running", "transactions"):
        shutil.copytree(GOLDEN / name, root / name)
    write_log(root / "v0", "0.9.0", CODECS)
    write_log(root / "v1", "0.10.2", CODECS)
    write_log(root / "v2", "2.0", CODECS)
    for name, found in (("groups", group_records()), ("coordinator", transaction_records())):
        (root / name).mkdir()
        batches = [
            build_batch([record._replace(offset=i)], partition_leader_epoch=0)
            for i, record in enumerate(found)
        ]
        (root / name / f"{0:020d}.log").write_bytes(b"".join(batches))
    wrong = root / "wrong"
    wrong.mkdir()
    batch = [
        build_batch(records(3 * i, 3, NOW - 5 * i), partition_leader_epoch=1) for i in range(8)
    ]
    broken = bytearray(batch[2])
    broken[-3] ^= 1
    stamped = build_batch(records(40, 2, NOW), timestamp_type=TimestampType.LOG_APPEND_TIME)
    bad_message = bytearray(encode_message(50, 1, 0, NOW, b"k", b"v"))
    bad_message[-1] ^= 1
    gap = b"".join(
        (batch[0], batch[1], bytes(broken), batch[5], stamped, bytes(bad_message), b"\0" * 9)
    )
    (wrong / f"{0:020d}.log").write_bytes(gap)
    at = [0, len(batch[0]), len(batch[0]) + len(batch[1]), sum(map(len, batch[:3]))]
    (wrong / f"{0:020d}.index").write_bytes(
        struct.pack(">8i", 2, at[0], 4, at[1], 8, at[2], 17, at[3])
    )
    (wrong / f"{0:020d}.timeindex").write_bytes(
        struct.pack(">qiqiqiqi", NOW + 2, 2, NOW + 1, 5, NOW + 99, 8, NOW + 100, 10)
    )
    (wrong / f"{7:020d}.snapshot").write_bytes(
        (GOLDEN / "transactions" / f"{5:020d}.snapshot").read_bytes() + b"x"
    )
    (wrong / "notes.txt").write_text("no log")
    (root / "torn").mkdir()
    (root / "torn" / f"{0:020d}.log").write_bytes(batch[0] + b"\0" * 40)
    (root / "torn" / f"{0:020d}.index").write_bytes(struct.pack(">2i", 2, 0) + b"xyz")
    (root / "torn" / f"{0:020d}.timeindex").write_bytes(struct.pack(">qiqi", NOW, 2, 0, 0))
    return root


@pytest.fixture(params=["2.0.1", "2.8.2"])
def version(request: pytest.FixtureRequest) -> str:
    apache_kafka_jars(request.param)
    return str(request.param)


def theirs(version: str, folder: Path, *arguments: str) -> Said:
    (folder / "log4j.properties").write_text("log4j.rootLogger=OFF\n")
    command = [
        "java",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        f"-Dlog4j.configuration=file:{folder}/log4j.properties",
    ]
    return said(
        [
            *command,
            "-cp",
            f"{apache_kafka_jars(version)}/*",
            "kafka.tools.DumpLogSegments",
            *arguments,
        ],
        folder,
    )


def ours(folder: Path, *arguments: str) -> Said:
    program = "from kafka_edu.tools.dump_log import dump_log; dump_log()"
    return said([sys.executable, "-c", program, *arguments], folder)


def said(command: list[str], folder: Path) -> Said:
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path.cwd())},
    )
    return Said(
        done.stdout.splitlines(),
        [line for line in done.stderr.splitlines() if not line.startswith("\tat ")],
        done.returncode,
    )


BATCH = re.compile(r"(.*) isvalid: (\w+) (size: .*)")
RECORD = re.compile(
    r"offset: (?P<offset>\S+) position: (?P<position>\S+) (?P<time>\S+ \S+) isvalid: (?P<valid>\S+)"
    r" keysize: (?P<key>\S+) valuesize: (?P<value>\S+) "
    r"magic: (?P<magic>\S+) compresscodec: (?P<codec>\S+) (?P<rest>.*)"
)
NEWER_RECORD = re.compile(
    r"\| offset: (?P<offset>\S+) isValid: (?P<valid>\S+) crc: \S+ keySize: (?P<key>\S+) valueSize:"
    r" (?P<value>\S+) (?P<time>\S+ \S+) .* "
    r"magic: (?P<magic>\S+) compressType: (?P<codec>\S+) position: (?P<position>\S+) (?P<rest>.*)"
)


def fields(found: re.Match[str]) -> str:
    """Return the fields of a record that both versions print."""
    rest = re.sub(
        r"producerId: \S+ producerEpoch: \S+ | isTransactional: \S+| isvalid: \S+",
        "",
        found["rest"],
    )
    return (
        " ".join(
            found[name]
            for name in ("offset", "position", "time", "valid", "key", "value", "magic", "codec")
        )
        + " "
        + rest
    )


def as_newer(line: str) -> str:
    """Change our line, in the form of 2.0.1, into the common form."""
    if record := RECORD.fullmatch(line):
        return fields(record)
    if batch := BATCH.fullmatch(line):
        return f"{batch[1]} {batch[3]} isvalid: {batch[2]}"
    return line


def from_newer(lines: list[str]) -> list[str]:
    """Change 2.8.2's lines into the common form. Where a log's records are shown, the lines of the
    batches are left out.
    """
    deep = any(line.startswith("| ") for line in lines)
    kept = [
        line for line in lines if not (deep and " isvalid: " in line and not line.startswith("| "))
    ]
    return [fields(found) if (found := NEWER_RECORD.fullmatch(line)) else line for line in kept]


EMPTY = " is empty."


def without_empty(lines: list[str], ours: list[str]) -> list[str]:
    """Drop the lines about empty indexes: 2.0.1 does not report that an index is empty. It prints
    nothing about it, or calls it sane.
    """
    empty = [line.removesuffix(EMPTY) for line in ours if line.endswith(EMPTY)]
    left_out = {f"{name}{said}" for name in empty for said in (EMPTY, " passed sanity check.")}
    return [line for line in lines if line not in left_out]


def grouped(lines: list[str]) -> dict[str, list[str]]:
    """Return the lines about mismatches by file. Kafka's order of files is that of a hash map."""
    found: dict[str, list[str]] = {}
    under: list[str] = []
    for line in lines:
        if line.startswith(("  ", "Indexed offset")):
            under.append(line)
        else:
            under = found.setdefault(line, [])
    return found


def compare(version: str, folder: Path, *arguments: str) -> None:
    its, mine = theirs(version, folder, *arguments), ours(folder, *arguments)
    assert its.code == mine.code == 0, (its.err, mine.err)
    if version == "2.0.1":
        assert without_empty(mine.out, mine.out) == without_empty(its.out, mine.out)
        assert grouped(mine.err) == grouped(its.err)
    else:
        assert [as_newer(line) for line in mine.out] == from_newer(its.out)
        mine_err = [line.replace("offsets in :", "offsets in ") for line in mine.err]
        assert grouped(mine_err) == grouped(its.err)


def all_of(root: Path, names: Sequence[str], *suffixes: str) -> str:
    return ",".join(
        sorted(
            str(path.relative_to(root))
            for name in names
            for path in (root / name).iterdir()
            if path.suffix in suffixes
        )
    )


@pytest.mark.parametrize(
    "options", [(), ("--deep-iteration",), ("--print-data-log",)], ids=["shallow", "deep", "print"]
)
def test_logs(files: Path, version: str, options: tuple[str, ...]) -> None:
    names = ["transactions", "v0", "v1", "v2"]
    if version == "2.8.2":
        names += ["clean", "running"]  # they contain zstd, which 2.0.1 cannot read
    compare(
        version, files, "--files", all_of(files, names, ".log", ".snapshot", ".txnindex"), *options
    )


@pytest.mark.parametrize(
    "options",
    [(), ("--verify-index-only",), ("--index-sanity-check",)],
    ids=["show", "verify", "sanity"],
)
def test_indexes(files: Path, version: str, options: tuple[str, ...]) -> None:
    names = ["transactions"]
    if version == "2.8.2" or "--index-sanity-check" in options:
        # 2.0.1 reports a mismatch wherever a batch contains more than one record
        names += ["v1", "v2"]
    compare(version, files, "--files", all_of(files, names, ".index", ".timeindex"), *options)


def test_decoders(files: Path, version: str) -> None:
    logs = all_of(files / "v1", ["."], ".log")
    for option in ("--key-decoder-class", "--value-decoder-class"):
        compare(version, files / "v1", "--files", logs, option, f"{DECODER}.StringDecoder")
    compare(
        version, files / "v1", "--files", logs, "--value-decoder-class", f"{DECODER}.IntegerDecoder"
    )
    if version == "2.8.2":
        compare(version, files / "groups", "--files", f"{0:020d}.log", "--offsets-decoder")
        compare(
            version, files / "coordinator", "--files", f"{0:020d}.log", "--transaction-log-decoder"
        )


def test_what_does_not_fit_together(files: Path, version: str) -> None:
    compare(version, files / "wrong", "--files", f"{0:020d}.log")
    compare(version, files / "wrong", "--files", f"{0:020d}.log", "--deep-iteration")
    compare(version, files / "wrong", "--files", f"{7:020d}.snapshot,notes.txt")
    if version == "2.8.2":
        compare(version, files / "wrong", "--files", f"{0:020d}.index,{0:020d}.timeindex")


def test_what_ends_it(files: Path, version: str) -> None:
    for arguments in (
        ("--files", f"{0:020d}.log"),
        ("--files", f"{0:020d}.index", "--index-sanity-check"),
        ("--files", f"{0:020d}.timeindex", "--index-sanity-check"),
        ("--files", f"{99:020d}.log"),
        ("--files", f"{0:020d}.index", "--max-message-size", "10"),
    ):
        its, mine = theirs(version, files / "torn", *arguments), ours(files / "torn", *arguments)
        assert its.code == mine.code == 1
        assert [as_newer(line) for line in mine.out] == [as_newer(line) for line in its.out]
        if "--index-sanity-check" in arguments or arguments == ("--files", f"{0:020d}.log"):
            assert mine.err == [f"Error: {its.err[0].partition('Exception: ')[2]}"]
