"""A demo ends in sentences, whatever goes wrong, and never in a traceback."""

import errno
import subprocess
import tempfile

import click
import confluent_kafka
import kafka.errors
import pytest
from click.testing import CliRunner

from kafka_edu.cli.demo_ending import HEADINGS, ends_in_sentences
from kafka_edu.cli.progress import Standstill
from kafka_edu.clients.admin import AdminTimeoutError
from kafka_edu.clients.client_errors import TimeoutException
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.maven_jars import PeerMissing
from kafka_edu.common.package_group import PackageGroupError
from kafka_edu.supervisor.cluster import ClusterError
from kafka_edu.trace.wire_format import TraceFormatError


def run(error: BaseException) -> tuple[int, list[str], BaseException | None]:
    @click.command()
    def command() -> None:
        with ends_in_sentences("breakfast"):
            raise error

    result = CliRunner().invoke(command, [], standalone_mode=False)
    return result.exit_code, result.output.splitlines(), result.exception


@pytest.mark.parametrize(
    "error",
    [
        ClusterError("broker-1 ended with code 1: a bug"),
        Standstill("nothing changed for 180 s"),
        KafkaException(Errors.NOT_CONTROLLER, "no controller"),
        AdminTimeoutError("Timed out waiting for a node assignment."),
        confluent_kafka.KafkaException(
            confluent_kafka.KafkaError(confluent_kafka.KafkaError._TIMED_OUT)
        ),
        kafka.errors.KafkaTimeoutError("no metadata"),
        TimeoutError("the ends were not reached"),
        TimeoutError(),
        ConnectionRefusedError(errno.ECONNREFUSED, "refused"),
        OSError(errno.ENOSPC, "No space left on device", "/small/disk/log"),
        OSError(errno.EMFILE, "Too many open files"),
        subprocess.TimeoutExpired(["ps", "ax"], 60),
        subprocess.CalledProcessError(2, ["ps", "ax"]),
        PackageGroupError("pyspark cannot be fetched"),
        PeerMissing("there is no Java"),
        TraceFormatError("the recording is damaged"),
    ],
    ids=lambda error: f"{type(error).__name__} {error}"[:40],
)
def test_it_says_what_happened_why_and_what_to_do(error: Exception) -> None:
    code, lines, _ = run(error)
    assert code == 1
    assert [line.partition(":")[0] for line in lines] == list(HEADINGS)
    assert lines[0].startswith("What happened: The demo breakfast could not continue: ")
    assert (str(error) or type(error).__name__) in lines[0]
    assert all(line.endswith(".") for line in lines[1:])


@pytest.mark.parametrize(
    ("error", "place"),
    [
        (OSError(errno.ENOSPC, "No space left", "/small/disk/log"), "/small/disk/log"),
        (Standstill("nothing changed for 180 s", "/small/disk"), "/small/disk"),
        (
            ClusterError("broker-1 ended with code 1: [Errno 28] No space left on device"),
            tempfile.gettempdir(),
        ),
    ],
)
def test_a_full_disk_is_named_with_a_way_out(error: Exception, place: str) -> None:
    _, (_, why, what_to_do), _ = run(error)
    assert why == f"Why: There is no space left on the disk of {place}."
    assert "TMPDIR" in what_to_do


@pytest.mark.parametrize(
    "error", [TimeoutError(), AdminTimeoutError("no node"), TimeoutException("elect_leaders")]
)
def test_a_client_that_got_no_answer_in_time_is_named_so(error: Exception) -> None:
    _, (_, why, _), _ = run(error)
    assert "did not answer in time" in why


def test_ctrl_c_says_so_and_goes_on_as_ctrl_c() -> None:
    @click.command()
    def command() -> None:
        with ends_in_sentences("breakfast"):
            raise KeyboardInterrupt

    result = CliRunner().invoke(command, [])
    first, *_ = result.output.splitlines()
    assert first == "What happened: You stopped the demo breakfast before its end."
    assert result.exit_code != 0


def test_a_bug_is_not_hidden() -> None:
    code, lines, error = run(KeyError("a bug"))
    assert (code, lines) == (1, [])
    assert isinstance(error, KeyError)


@pytest.mark.parametrize("end", [click.ClickException("no"), SystemExit(143)])
def test_other_ends_pass(end: BaseException) -> None:
    assert run(end)[1] == []
