"""A standalone cluster that cannot start says why in one line, before a JVM of Spark runs."""

from pathlib import Path

import pytest

from kafka_edu.common import java as java_module
from kafka_edu.common.java import Java
from kafka_edu.spark import standalone_cluster
from kafka_edu.spark.java_gateway import SparkStartError
from kafka_edu.spark.standalone_cluster import (
    NEEDED_MODULE,
    environment,
    find_full_java,
    processes,
    running_standalone_cluster,
)


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the only Java that can be found. There is also a Spark with one jar."""
    program = tmp_path / "java" / "bin" / "java"
    program.parent.mkdir(parents=True)
    jars = tmp_path / "spark" / "jars"
    jars.mkdir(parents=True)
    (jars / "spark-core_2.13-4.2.1.jar").touch()
    monkeypatch.setattr(java_module, "candidates", lambda: iter([program]))
    monkeypatch.setattr(standalone_cluster, "find_spark_home", lambda: tmp_path / "spark")
    return program


def write_java(program: Path, modules: str, answer: str = "exit 1") -> None:
    program.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        f'*--list-modules*) printf "{modules}" ;;\n'
        f"*launcher.Main*) printf '\\0\\n{program}\\0-Xmx1m\\0the.Master\\0' ;;\n"
        f"*) {answer} ;;\n"
        "esac\n"
    )
    program.chmod(0o755)


def test_a_java_without_the_module_is_refused(java: Path) -> None:
    write_java(java, "java.base@21.0.8\\n")
    with pytest.raises(SparkStartError) as refused, running_standalone_cluster():
        pass
    line = str(refused.value)
    assert line.startswith("a standalone cluster of Spark needs a full Java 17 or newer, and there")
    assert f"{java} (Java 21, which lacks the module {NEEDED_MODULE})" in line
    assert "set JAVA_HOME" in line
    assert "\n" not in line


def test_a_java_that_is_too_old_is_refused(java: Path) -> None:
    write_java(java, f"java.base@11.0.8\\n{NEEDED_MODULE}@11.0.8\\n")
    with pytest.raises(SparkStartError, match=r"needs a full Java 17 or newer, .* \(Java 11\)"):
        find_full_java()


def test_a_master_that_does_not_start_says_why(java: Path) -> None:
    answer = 'echo "BindException: the port is taken"; exit 1'
    write_java(java, f"java.base@21.0.8\\n{NEEDED_MODULE}@21.0.8\\n", answer)
    with (
        pytest.raises(SparkStartError, match="master did not start: BindException: the port"),
        running_standalone_cluster(),
    ):
        pass


def test_executors_find_nothing_of_ours(
    java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PYTHONPATH", "PYSPARK_PYTHON", "SPARK_WORKER_PORT"):
        monkeypatch.setenv(name, "/ours")
    found = environment(Java(java, 21, frozenset()), tmp_path)
    assert not [name for name, text in found.items() if text == "/ours"]
    assert found["SPARK_SCALA_VERSION"] == "2.13"
    assert found["SPARK_LOCAL_IP"] == "127.0.0.1"


def test_two_clusters_can_run_on_one_machine(java: Path, tmp_path: Path) -> None:
    """The master's REST server is switched off, because it would listen on the fixed port 6066."""
    pytest.importorskip("pyspark", reason="PySpark is not installed: ./kafka-edu setup spark")
    options = environment(Java(java, 21, frozenset()), tmp_path)["SPARK_DAEMON_JAVA_OPTS"]
    assert "-Dspark.master.rest.enabled=false" in options.split()


def test_processes_have_parents() -> None:
    import os

    [me] = [one for one in processes() if one.pid == os.getpid()]
    assert me.parent == os.getppid()
    assert "python" in me.command
