"""Wrong files and addresses: each tool says so in one line, without a traceback."""

import contextlib
import errno
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_edu.cli.proxy_command import proxy
from kafka_edu.clients.admin.admin_call import Results, results_of
from kafka_edu.clients.admin.cluster_calls import ClusterDescription
from kafka_edu.clients.admin.log_dir_calls import LogDirDescription
from kafka_edu.clients.admin.node import Node
from kafka_edu.clients.client_errors import TimeoutException
from kafka_edu.clients.proxy.recording import RecordingError, read_recording
from kafka_edu.common.words import cause_of
from kafka_edu.tools import admin_client
from kafka_edu.tools.configs import configs
from kafka_edu.tools.delete_records import parse_offsets
from kafka_edu.tools.json_files import parse_version_1
from kafka_edu.tools.log_dirs import log_dirs
from kafka_edu.tools.reassignment_file import parse_proposal
from kafka_edu.tools.tool import ToolError, java_class, load_properties, read_text_file, text_of

NOT_UTF_8 = b"\xff\xfe"
NO_JSON = "kafka.admin.AdminOperationException: The input string is not a valid JSON"
PARTITION = '{"version":1,"partitions":[{"topic":%s,"partition":%s,"replicas":[0]}]}'


def said(work: Callable[[], object]) -> str:
    """Return the text that the tool shows for the ToolError that `work` raises."""
    with pytest.raises(ToolError) as failed:
        work()
    return f"{java_class(failed.value)}: {text_of(failed.value)}"


def unreadable(_: Path, **__: object) -> str:
    """Stands in for Path.read_text, because tests may run as root, whom no permission stops."""
    raise PermissionError(errno.EACCES, "Permission denied")


def test_a_file_that_is_not_utf_8_is_no_json(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(NOT_UTF_8)
    assert said(lambda: parse_version_1(read_text_file(str(file)))) == NO_JSON


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"version":NaN}',
        '{"a":-Infinity}',
        PARTITION % ('"\\ud800"', 0),
    ],
    ids=[
        "empty",
        "unfinished",
        "deep lists",
        "deep objects",
        "NaN",
        "infinity",
        "half a surrogate pair",
    ],
)
def test_what_is_no_json(text: str) -> None:
    assert said(lambda: parse_version_1(text)) == NO_JSON


@pytest.mark.parametrize(
    ("text", "received"),
    [
        (PARTITION % ('"t"', 2**31), "2147483648"),
        (PARTITION % ('"t"', -(2**31) - 1), "-2147483649"),
        (PARTITION % ('"t"', "true"), "true"),
        (PARTITION % ('"t"', "1.5"), "1.5"),
        ('{"version":true}', "true"),
        ('{"version":"1"}', '"1"'),
        ('{"version":null}', "null"),
    ],
)
def test_what_is_no_int(text: str, received: str) -> None:
    assert (
        said(lambda: parse_proposal(text))
        == "com.fasterxml.jackson.databind.JsonMappingException: Expected `Int` value, received"
        f" {received}"
    )


def test_an_offset_is_a_long() -> None:
    text = '{"partitions":[{"topic":"t","partition":0,"offset":%d}]}'
    assert list(parse_offsets(text % (2**63 - 1)).values()) == [2**63 - 1]
    assert "Expected `Long` value, received 9223372036854775808" in said(
        lambda: parse_offsets(text % 2**63)
    )


def test_a_properties_file_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "f"
    assert said(lambda: load_properties(str(file))) == f"java.nio.file.NoSuchFileException: {file}"
    assert (
        said(lambda: load_properties(str(tmp_path)))
        == f"java.io.IOException: {tmp_path}: Is a directory"
    )
    file.write_bytes(b"client.id=x\na=" + NOT_UTF_8)
    assert load_properties(str(file))["client.id"] == "x"
    monkeypatch.setattr(Path, "read_text", unreadable)
    assert (
        said(lambda: load_properties(str(file))) == f"java.nio.file.AccessDeniedException: {file}"
    )
    assert (
        said(lambda: read_text_file(str(file)))
        == f"java.io.FileNotFoundException: {file} (Permission denied)"
    )


def test_the_words_of_the_system_alone(tmp_path: Path) -> None:
    refused = ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 1)")
    assert cause_of(refused) == "Connection refused"
    assert (
        cause_of(OSError(errno.EADDRINUSE, "cannot listen on h:1: Address already in use"))
        == "cannot listen on h:1: Address already in use"
    )
    assert cause_of(TimeoutError("no answer in time")) == "no answer in time"
    assert text_of(refused) == "Connection refused"
    with pytest.raises(IsADirectoryError) as failed:
        tmp_path.read_bytes()
    assert text_of(failed.value) == f"{tmp_path}: Is a directory"


def test_a_zookeeper_that_is_no_address() -> None:
    result = CliRunner().invoke(
        configs,
        ["--zookeeper", "foo:bar", "--describe", "--entity-type", "topics", "--entity-name", "t"],
    )
    assert result.exit_code == 1
    assert "foo:bar is not host:port[,host:port…][/chroot], as 127.0.0.1:2181" in result.output


LOST = "The connection was lost"


class TwoBrokers:
    """Brokers 0 and 1, of which 1 breaks every connection."""

    async def describe_cluster(self) -> ClusterDescription:
        return ClusterDescription("c", None, tuple(Node(number, "h", 9092) for number in (0, 1)))

    async def describe_log_dirs(
        self, brokers: list[int], timeout_ms: float
    ) -> Results[int, Mapping[str, LogDirDescription]]:
        lost = TimeoutException(LOST)
        return results_of((broker, lost if broker == 1 else {}) for broker in brokers)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("0,7", "broker 7 is not in the cluster, which has 0,1"),
        ("0,1", f"broker 1 does not answer: {LOST}"),
    ],
)
def test_log_dirs_of_a_broker_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, asked: str, words: str
) -> None:
    monkeypatch.setattr(admin_client, "open_admin", lambda *_: contextlib.nullcontext(TwoBrokers()))
    result = CliRunner().invoke(
        log_dirs, ["--bootstrap-server", "h:9092", "--describe", "--broker-list", asked]
    )
    assert result.exit_code == 1
    main = 'Exception in thread "main" java.util.concurrent.ExecutionException'
    assert result.output.splitlines()[1:] == [
        f"{main}: org.apache.kafka.common.errors.TimeoutException: {words}"
    ]


def test_a_recording_that_is_none() -> None:
    for data in (b"[" * 100_000, NOT_UTF_8, b""):
        with pytest.raises(RecordingError, match="it is not JSON"):
            read_recording(data)


def test_a_proxy_with_wrong_files(tmp_path: Path) -> None:
    routes = tmp_path / "routes"
    serve = ["--listen", "127.0.0.1:0", "--target", "127.0.0.1:1", "--routes", str(routes)]
    result = CliRunner().invoke(proxy, serve)
    assert (result.exit_code, result.output) == (
        1,
        f"Error: cannot read {routes}: No such file or directory\n",
    )
    routes.write_bytes(NOT_UTF_8)
    result = CliRunner().invoke(proxy, serve)
    assert (result.exit_code, result.output) == (
        1,
        f"Error: cannot read {routes}: it is not UTF-8. Write the rules into a text file.\n",
    )
    result = CliRunner().invoke(proxy, ["--health", "--target", "127.0.0.1:1"])
    assert (result.exit_code, result.output) == (
        1,
        "cluster-1  Down  127.0.0.1:1: Connection refused\n",
    )
