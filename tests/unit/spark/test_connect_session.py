"""What is wrong with a Spark Connect server is named in one line, before PySpark tries it."""

import socket

import pytest
from click.testing import CliRunner

from kafka_edu.cli.spark_shell_command import shell
from kafka_edu.spark import connect_session
from kafka_edu.spark.connect_session import ConnectError, check_remote, missing_packages
from kafka_edu.spark.source_errors import user_error


def none_missing() -> list[str]:
    return []


@pytest.mark.parametrize(
    "remote", ["", "127.0.0.1:15002", "sc://", "sc://here:port", "spark://a:1"]
)
def test_a_wrong_address_is_refused(remote: str) -> None:
    with pytest.raises(ConnectError, match="is not an address of a Spark Connect server"):
        check_remote(remote, missing=none_missing)


def test_a_server_that_answers_is_accepted_with_and_without_parameters() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for end in ("", "/", "/;user_id=me;use_ssl=false"):
            check_remote(f"sc://127.0.0.1:{port}{end}", missing=none_missing)


def test_a_server_that_does_not_answer_is_named() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))  # bound and not listening: it refuses
        port = other.getsockname()[1]
        with pytest.raises(
            ConnectError, match=rf"^no Spark Connect server answers at .*:{port} \("
        ):
            check_remote(f"sc://127.0.0.1:{port}", missing=none_missing)


def test_packages_are_found_by_their_modules() -> None:
    assert missing_packages(lambda module: object()) == []

    def nothing(module: str) -> None:
        if "." in module:
            raise ModuleNotFoundError(module)

    assert missing_packages(nothing) == [
        "grpcio",
        "grpcio-status",
        "googleapis-common-protos",
        "zstandard",
        "pandas",
    ]


def test_the_shell_names_the_packages_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="PySpark is not installed: ./kafka-edu setup spark")
    monkeypatch.setitem(connect_session.PACKAGES, "no_such_module", "no-such-package")
    ran = CliRunner().invoke(shell, ["--remote", "sc://127.0.0.1:1"])
    assert ran.exit_code == 1
    (line,) = [line for line in ran.output.splitlines() if line.startswith("Error")]
    assert "Spark Connect needs Python packages that are not installed: " in line
    assert "no-such-package" in line


def test_a_server_without_kafka_edu_is_explained() -> None:
    said = user_error(RuntimeError("in main\nModuleNotFoundError: No module named 'kafka_edu'"))
    assert said is not None
    assert said.startswith("A Python process of Spark has no kafka-edu. Through Spark Connect")
