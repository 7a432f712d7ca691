"""The official connector's jars come from Maven. If they cannot be fetched, one line says why."""

import os
import sys
from pathlib import Path

import pytest

from kafka_edu.spark import connectors
from kafka_edu.spark.connectors import Connector, format_of, start_session
from kafka_edu.spark.official_jars import (
    OfficialConnectorMissing,
    OfficialJars,
    official_jars,
    versions_to_try,
)
from kafka_edu.spark.source_errors import user_error
from kafka_edu.spark.spark_master import MasterError

#: A Maven that has the connector in version 4.2.0 alone. It notes each call next to itself.
MAVEN = """#!/bin/sh
echo call >> "$0.calls"
pom=$4
for word in "$@"; do case "$word" in -DoutputDirectory=*) out="${word#*=}";; esac; done
if grep -q '<version>4.2.0<' "$pom"; then
  mkdir -p "$out" && touch "$out/spark-sql-kafka-0-10_2.13-4.2.0.jar" "$out/commons-pool2.jar"
else
  echo '[INFO] resolving'; echo '[ERROR] the jar of 4.2.1 was not found'; echo '[ERROR] more'
  exit 1
fi
"""
UNREACHABLE = """#!/bin/sh
echo '[ERROR] Unknown host maven.example'
echo '[ERROR] Re-run Maven with -X'
exit 1
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder at the front of PATH, with a Java that does nothing. The cache of jars is
    empty.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write(folder / "java", "#!/bin/sh\n")
    return folder


def write(program: Path, script: str) -> None:
    program.write_text(script)
    program.chmod(0o755)


def test_each_connector_has_its_format() -> None:
    assert [format_of(connector) for connector in Connector] == ["kafka-edu", "kafka"]


def test_a_spark_connect_server_in_the_environment_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sql = pytest.importorskip("pyspark.sql", reason="PySpark is missing: ./kafka-edu setup spark")
    monkeypatch.setattr(sql.SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setenv("SPARK_REMOTE", "sc://127.0.0.1:15002")
    with (
        pytest.raises(MasterError, match=r"^SPARK_REMOTE is set to sc://127\.0\.0\.1:15002, so"),
        start_session("tests", "local[1]"),
    ):
        pytest.fail("a session was started")


def test_workers_are_prepared_only_for_a_jvm_of_this_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prepared = "/prepared/python"
    monkeypatch.setattr(connectors, "prepared_python", lambda: prepared)
    monkeypatch.setattr(connectors, "is_prepared", lambda: False)
    monkeypatch.setattr(connectors, "has_gateway", lambda: False)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert connectors._python_for_workers("local[2]") == prepared
    assert connectors._python_for_workers("spark://127.0.0.1:7077") == sys.executable
    monkeypatch.setattr(connectors, "has_gateway", lambda: True)
    assert connectors._python_for_workers("local[2]") == sys.executable, "a warm JVM"
    monkeypatch.setattr(connectors, "is_prepared", lambda: True)
    assert connectors._python_for_workers("local[2]") == prepared
    monkeypatch.setenv("PYSPARK_PYTHON", "/another/python")
    assert connectors._python_for_workers("local[2]") == sys.executable


def test_older_versions_of_the_same_minor_version_are_tried() -> None:
    assert versions_to_try("4.2.1") == ["4.2.1", "4.2.0"]
    assert versions_to_try("4.3.0") == ["4.3.0"]
    assert versions_to_try("4.3.0.dev1") == ["4.3.0.dev1"]


def test_an_older_connector_is_fetched_once_and_named(programs: Path) -> None:
    write(programs / "mvn", MAVEN)
    found = official_jars("4.2.1")
    assert found.version == "4.2.0"
    assert [file.name for file in found.files] == [
        "commons-pool2.jar",
        "spark-sql-kafka-0-10_2.13-4.2.0.jar",
    ]
    assert found.note == ("Maven has no connector for Spark 4.2.1, so this is the one of 4.2.0.")
    assert official_jars("4.2.1") == found
    assert (programs / "mvn.calls").read_text().count("call") == 2, "4.2.1 and 4.2.0, once each"
    assert OfficialJars("4.2.0", "4.2.0", found.files).note == ""


def test_a_maven_that_reaches_nothing_is_one_line(programs: Path) -> None:
    write(programs / "mvn", UNREACHABLE)
    with pytest.raises(OfficialConnectorMissing) as refused:
        official_jars("4.2.1")
    assert user_error(refused.value) == (
        "Spark's own Kafka connector is not here. Maven cannot fetch"
        " org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.1: Unknown host maven.example. Check the"
        " network and Maven, or use the connector python, which needs no jar"
    )


def test_without_maven_the_line_says_how_to_get_it(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(programs))
    with pytest.raises(OfficialConnectorMissing, match=r"Maven \(mvn\), which is not installed"):
        official_jars("4.2.1")
