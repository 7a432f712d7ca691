"""dump-log without Java.

tests/interop/test_dump_log_beside_apache_kafka.py compares it with Apache Kafka's tool on the same
files.
"""

import io
import os
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_edu.tools.dump_log import dump_log

GOLDEN = Path(__file__).parents[2] / "golden" / "log" / "transactions"
LOG = f"{5:020d}.log"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(GOLDEN, tmp_path / "log")
    return tmp_path / "log"


def run(folder: Path, *arguments: str) -> tuple[list[str], list[str], int]:
    result = CliRunner().invoke(dump_log, [a.replace("FOLDER", str(folder)) for a in arguments])
    return (
        result.stdout.replace(str(folder), "FOLDER").splitlines(),
        result.stderr.replace(str(folder), "FOLDER").splitlines(),
        result.exit_code,
    )


def test_batches_records_and_contents(folder: Path) -> None:
    shallow, _, code = run(folder, "--files", f"FOLDER/{LOG}")
    assert code == 0
    assert shallow[:2] == [f"Dumping FOLDER/{LOG}", "Starting offset: 5"]
    assert shallow[3].startswith(
        "baseOffset: 6 lastOffset: 6 count: 1 baseSequence: 2 lastSequence: 2 producerId: 0"
        " producerEpoch: 0 "
    )
    deep, _, _ = run(folder, "--files", f"FOLDER/{LOG}", "--deep-iteration")
    assert deep[2].endswith(" headerKeys: [] endTxnMarker: ABORT coordinatorEpoch: 0")
    assert "payload" not in deep[3]
    printed, _, _ = run(folder, "--files", f"FOLDER/{LOG}", "--value-decoder-class")
    assert printed[3] == deep[3] + " key: 1-9 payload: " + "x" * 100
    hexadecimal, _, _ = run(
        folder,
        "--files",
        f"FOLDER/{LOG}",
        "--value-decoder-class",
        "kafka.serializer.DefaultDecoder",
    )
    assert hexadecimal[3] == deep[3] + " key: 1-9 payload: " + "78" * 100


def test_indexes_and_snapshots(folder: Path) -> None:
    names = ",".join(
        f"FOLDER/{5:020d}.{suffix}" for suffix in ("index", "timeindex", "snapshot", "txnindex")
    )
    lines, errors, code = run(folder, "--files", names)
    assert (errors, code) == ([], 0)
    assert "offset: 7 position: 251" in lines
    assert "version: 0 producerId: 0 firstOffset: 0 lastOffset: 5 lastStableOffset: 1" in lines
    assert any(
        line.startswith(
            "producerId: 1 producerEpoch: 0 coordinatorEpoch: -1 currentTxnFirstOffset: Some(1) "
        )
        for line in lines
    )
    lines, _, _ = run(folder, "--files", f"FOLDER/{5:020d}.index", "--index-sanity-check")
    assert lines[1] == f"FOLDER/{5:020d}.index passed sanity check."


def test_what_is_wrong_is_told_and_unknown_files_are_left_out(folder: Path) -> None:
    (folder / "notes.txt").write_text("")
    data = bytearray((folder / LOG).read_bytes())
    data[200] ^= 1
    (folder / LOG).write_bytes(data + b"\0" * 5)
    lines, errors, code = run(folder, "--files", f"FOLDER/notes.txt,FOLDER/{LOG}")
    assert (errors, code) == (["Ignoring unknown file FOLDER/notes.txt"], 0)
    assert [" isvalid: false " in line for line in lines].count(True) == 1
    assert lines[-1] == f"Found 5 invalid bytes at the end of {LOG}"
    for files, message in (
        (
            "FOLDER/none.log",
            'Error: FOLDER/none.log is not named by an offset: for input string: "none"',
        ),
        (f"FOLDER/{77:020d}.log", f"Error: FOLDER/{77:020d}.log (No such file or directory)"),
    ):
        assert run(folder, "--files", files)[1:] == ([message], 1)
    assert run(folder)[1][-1] == 'Error: Missing required argument "[files]"'
    assert (
        "There is no decoder com.acme.Mine here"
        in run(folder, "--files", "x.log", "--key-decoder-class", "com.acme.Mine")[1][-1]
    )


def test_nothing_is_written(folder: Path) -> None:
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    for path in folder.iterdir():
        os.chmod(path, 0o444)
    os.chmod(folder, 0o555)
    try:
        files = ",".join(str(path) for path in sorted(folder.iterdir()))
        assert run(folder, "--files", files, "--print-data-log")[2] == 0
    finally:
        os.chmod(folder, 0o755)
    assert {
        path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()
    } == before


def test_a_failure_of_the_output_is_not_told_of_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NobodyReads(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", NobodyReads())
    with pytest.raises(BrokenPipeError):
        dump_log.main(["--files", str(folder / LOG)], standalone_mode=False)
