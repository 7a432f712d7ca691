"""The wire microscope's commands, on frames made here."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kafka_edu.cli.wire_command import wire
from kafka_edu.common.transport import part_bytes
from kafka_edu.instruments.wire.versions import history
from kafka_edu.instruments.wire.versions_page import page
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.capture_format import CapturedFrame, encode_frame, encode_header
from kafka_edu.protocol.headers import encode_request, encode_response
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch

BATCH = build_batch([Record(0, 1_700_000_000_000, b"k", b"hello")])
REQUEST = b"".join(
    bytes(part_bytes(part))
    for part in encode_request(
        ProduceRequest(
            acks=-1,
            timeout_ms=30_000,
            topic_data=[
                TopicProduceData(
                    name="web", partition_data=[PartitionProduceData(index=0, records=BATCH)]
                )
            ],
        ),
        9,
        4711,
        "shop",
    )
)
RESPONSE = b"".join(
    bytes(part_bytes(part))
    for part in encode_response(
        ApiKey.PRODUCE,
        9,
        4711,
        ProduceResponse(
            responses=[
                TopicProduceResponse(
                    name="web",
                    partition_responses=[
                        PartitionProduceResponse(index=0, error_code=6, base_offset=-1)
                    ],
                )
            ]
        ),
    )
)


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(wire, list(arguments), input=stdin)


def test_a_request_as_hex_a_file_and_standard_input_give_the_same_tree(tmp_path: Path) -> None:
    as_bytes, as_hex = tmp_path / "frame.bin", tmp_path / "frame.hex"
    as_bytes.write_bytes(REQUEST)
    as_hex.write_text(REQUEST.hex(" "))
    outputs = {
        run("decode", REQUEST.hex()).output,
        run("decode", str(as_bytes)).output,
        run("decode", str(as_hex)).output,
        run("decode", "-", stdin=REQUEST).output,
        run("decode", "-", stdin=REQUEST.hex().encode()).output,
    }
    (output,) = outputs
    for words in (
        "Produce v9 request · client shop · correlation 4711",
        "acks -1 = the whole ISR has it  (int16)",
        'name "web"  (compact string: length + 1)',
        "transactional_id null  (compact string: length + 1, versions 3+)",
        "✓",
        'record 0 offset 0  key "k"  value "hello"',
    ):
        assert words in output
    without_size = run("decode", REQUEST[4:].hex())
    assert without_size.exit_code == 0
    assert "acks -1" in without_size.output


def test_the_hex_column_holds_every_byte_of_the_frame() -> None:
    lines = run("decode", REQUEST.hex(), "--all").output.splitlines()[1:]
    shown = "".join(line[7:30].replace(" ", "") for line in lines)
    assert shown == REQUEST.hex()


def test_the_first_wrong_byte_is_named_and_marked_without_colour() -> None:
    broken = bytearray(REQUEST)
    at = broken.index(b"\x04web")
    broken[at] = 0x7F
    result = run("decode", bytes(broken).hex())
    assert result.exit_code == 1
    assert f"{at:04x} ✗ 7f" in result.output
    assert f"first wrong byte: byte {at} (0x{at:04x}) is 0x7f" in result.output
    coloured = CliRunner().invoke(wire, ["decode", bytes(broken).hex()], color=True)
    assert "\x1b[31m" in coloured.output


def test_a_response_needs_its_api_and_version() -> None:
    refused = run("decode", RESPONSE.hex(), "--response")
    assert refused.exit_code == 1
    assert "give --api and --version" in refused.output
    for api in ("Produce", "produce", "0"):
        output = run("decode", RESPONSE.hex(), "--api", api, "--version", "9").output
        assert "error_code 6 = NOT_LEADER_OR_FOLLOWER" in output
    assert "no API 'Nonsense'" in run(
        "decode", RESPONSE.hex(), "--api", "Nonsense", "--version", "9"
    ).output.replace("\n", " ")


@pytest.mark.parametrize("nonsense", ["hello", "0", "xyz.bin"])
def test_what_is_neither_hex_nor_a_file_is_said(nonsense: str) -> None:
    result = run("decode", nonsense)
    assert result.exit_code == 1
    assert "neither hex nor a file" in result.output


def test_json_holds_the_tree() -> None:
    document = json.loads(run("decode", REQUEST.hex(), "--json", "-").output)
    assert (document["api"], document["version"], document["first_wrong_byte"]) == (
        "Produce",
        9,
        None,
    )
    body = document["fields"][2]["fields"]
    assert [field["name"] for field in body][:3] == ["transactional_id", "acks", "timeout_ms"]


def capture(path: Path) -> None:
    with path.open("wb") as file:
        file.write(encode_header(0))
        for number, (is_response, data) in enumerate(
            ((False, REQUEST), (True, RESPONSE), (False, REQUEST[:30])), 1
        ):
            frame = CapturedFrame(
                number=number,
                wall_ms=1_700_000_000_000 + number,
                broker_id=0,
                connection_id="a-b-0",
                is_response=is_response,
                client_id="shop",
                api_key=0,
                api_version=9,
                correlation_id=4711,
                size=len(data),
                data=data,
            )
            file.write(encode_frame(frame))


def test_a_capture_is_listed_filtered_and_taken_apart(tmp_path: Path) -> None:
    path = tmp_path / "frames"
    capture(path)
    listed = run("show", str(path)).output.splitlines()
    assert sum("Produce v9" in line for line in listed) == 3
    assert any("✗ first wrong byte" in line for line in listed)
    assert "→ b0" in listed[0]
    assert "← b0" in listed[1]
    assert "error_code 6" in run("show", str(path), "--frame", "2").output
    assert "no frame is captured" in run("show", str(path), "--client", "nobody").output
    assert "no frame is captured" in run("show", str(path), "--api", "Fetch").output
    assert "there is no frame 9" in run("show", str(path), "--frame", "9").output
    assert "there is no API 'Nonsense'" in run("show", str(path), "--api", "Nonsense").output
    assert len(json.loads(run("show", str(path), "--json", "-").output)) == 3


def test_show_wants_a_file_or_a_cluster(tmp_path: Path) -> None:
    assert "with --live" in run("show", "--live", str(tmp_path)).output
    assert "there is no cluster" in run("show", "--cluster", "nowhere").output
    assert "cannot be read" in run("show", str(tmp_path / "missing")).output
    other = tmp_path / "other"
    other.write_text("hello\n")
    assert "not a capture of frames" in run("show", str(other)).output
    assert "there is no cluster" in run("show", "--live", "--cluster", "nowhere").output
    assert "there is no cluster" in run("capture", "*", "--cluster", "nowhere").output


def test_versions_of_one_api_and_of_all() -> None:
    one = run("versions", "produce").output
    assert "v3  KIP-98" in one
    assert "request + transactional_id (string)" in one
    everything = run("versions").output.splitlines()
    assert len(everything) == len(REGISTRY)
    document = json.loads(run("versions", "Fetch", "--json", "-").output)
    assert document["versions"][10]["kips"] == ["KIP-110"]


def test_the_history_names_each_field_once_as_added() -> None:
    for key, pair in REGISTRY.items():
        changes = [change for version in history(key) for change in version.fields]
        added = [(c.message, c.path) for c in changes if c.change == "added"]
        assert len(added) == len(set(added)), key
        for kind, message in (("request", pair.request), ("response", pair.response)):
            top = {path for of, path in added if of == kind and "." not in path}
            assert top == {field.name for field in message.FIELDS}


def test_the_page_of_versions_is_current() -> None:
    written = (Path(__file__).parents[3] / "docs/wire-versions.md").read_text(encoding="utf-8")
    assert written == page(), (
        "run: python -m kafka_edu.instruments.wire.versions_page docs/wire-versions.md"
    )


def test_the_worked_example_of_the_page_is_what_the_command_prints() -> None:
    text = (Path(__file__).parents[3] / "docs/wire.md").read_text(encoding="utf-8")
    match = re.search(r"wire decode ([0-9a-f\s\\]+)\n```\n\n```\n(.*?)\n```", text, re.DOTALL)
    assert match is not None
    words, printed = match.groups()
    frame = words.replace("\\\n", " ")
    assert bytes.fromhex(frame) == REQUEST
    assert run("decode", *frame.split()).output.rstrip() == printed
    broken = bytes.fromhex(frame).replace(b"\x04web", b"\x7fweb")
    wrong = run("decode", broken.hex()).output
    for line in text.split("\n```\n")[-2].splitlines():
        assert line in wrong
