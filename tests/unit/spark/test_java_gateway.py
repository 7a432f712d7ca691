"""Spark's JVM starts even if Java lacks a module. A Java that cannot run Spark is named in the
error.
"""

import os
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_edu.common import java as java_module
from kafka_edu.common.java import look_at_java
from kafka_edu.spark import java_gateway
from kafka_edu.spark.java_gateway import (
    LAUNCHER,
    SparkStartError,
    gateway_command,
    start_java_gateway,
)

MODULES = "java.base@21.0.8\\njava.sql@21.0.8\\n"


def fake_java(folder: Path, script: str) -> Path:
    """A program that stands for Java, in the place where a Java home has it."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def spark_home(tmp_path: Path) -> Path:
    jars = tmp_path / "spark" / "jars"
    jars.mkdir(parents=True)
    (jars / "spark-core_2.13-4.2.1.jar").touch()
    return jars.parent


def launcher(words: list[str]) -> str:
    """Return the script of a Java that lists its modules, and prints these words as Spark's
    launcher does.
    """
    printed = "".join(f"{word}\\0" for word in words)
    return (
        f"case \"$*\" in --list-modules) printf '{MODULES}';; *{LAUNCHER}*) printf"
        f" '\\0\\n{printed}';; *) echo 'Error: no main class' >&2; exit 1;; esac"
    )


def test_a_java_that_is_too_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = fake_java(tmp_path / "old", "echo java.base@11.0.2")
    monkeypatch.setattr(java_module, "candidates", lambda: iter([old]))
    monkeypatch.setattr(
        java_gateway.importlib.util,
        "find_spec",
        lambda _: type("Spec", (), {"origin": str(tmp_path / "__init__.py")}),
    )
    with pytest.raises(SparkStartError, match=r"needs Java 17 or newer.*old.*\(Java 11\)"):
        start_java_gateway()


def test_a_module_that_this_java_lacks_is_not_asked_for(tmp_path: Path, spark_home: Path) -> None:
    words = [
        "/opt/java",
        "--add-modules=jdk.incubator.vector",
        "--add-modules=java.sql",
        "-Xmx1g",
        "org.apache.spark.deploy.SparkSubmit",
    ]
    java = look_at_java(fake_java(tmp_path / "java", launcher(words)))
    assert java is not None
    assert gateway_command(java, spark_home) == [words[0], *words[2:]]


def test_a_jvm_that_ends_at_once_says_why(
    tmp_path: Path, spark_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "java"
    program = fake_java(home, launcher([str(home / "bin" / "java"), "-Xmx9999g"]))
    monkeypatch.setattr(java_module, "candidates", lambda: iter([program]))
    monkeypatch.setattr(
        java_gateway.importlib.util,
        "find_spec",
        lambda _: type("Spec", (), {"origin": str(spark_home / "__init__.py")}),
    )
    monkeypatch.setattr(java_gateway, "_ADDRESS", {})
    with (
        pytest.raises(SparkStartError, match="did not start: Error: no main class"),
        java_gateway.java_gateway(),
    ):
        pass
    assert "PYSPARK_GATEWAY_PORT" not in os.environ


def test_ctrl_c_while_the_jvm_starts_leaves_no_jvm(
    tmp_path: Path, spark_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "java"
    slow = fake_java(tmp_path / "slow", "exec sleep 600")
    program = fake_java(home, launcher([str(slow)]))
    monkeypatch.setattr(java_module, "candidates", lambda: iter([program]))
    monkeypatch.setattr(
        java_gateway.importlib.util,
        "find_spec",
        lambda _: type("Spec", (), {"origin": str(spark_home / "__init__.py")}),
    )
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def remembers(*arguments: Any, **options: Any) -> "subprocess.Popen[bytes]":
        started.append(popen(*arguments, **options))
        return started[-1]

    def interrupts(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(java_gateway.subprocess, "Popen", remembers)
    # only the gateway's own sleep: the wait for `java -version` may sleep too
    own = SimpleNamespace(sleep=interrupts, monotonic=time.monotonic)
    monkeypatch.setattr(java_gateway, "time", own)
    with pytest.raises(KeyboardInterrupt):
        start_java_gateway()
    assert started[-1].returncode == -signal.SIGKILL


def test_the_jvm_is_started_once_and_its_address_is_there_for_the_block_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = {"PYSPARK_GATEWAY_PORT": "7", "PYSPARK_GATEWAY_SECRET": "s"}
    starts: list[bool] = []

    def start(*, with_home: bool, jars: object) -> dict[str, str]:
        starts.append(with_home)
        return address

    monkeypatch.setattr(java_gateway, "_ADDRESS", {})
    monkeypatch.setattr(java_gateway, "start_java_gateway", start)
    for _ in range(2):
        with java_gateway.java_gateway():
            assert {name: os.environ[name] for name in address} == address
        assert not address.keys() & os.environ.keys()
    assert starts == [True]

    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "8")
    with java_gateway.java_gateway():
        assert os.environ["PYSPARK_GATEWAY_PORT"] == "8"
    assert os.environ["PYSPARK_GATEWAY_PORT"] == "8"
    assert starts == [True]
