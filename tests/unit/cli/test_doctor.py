"""The doctor: the result of each check on a good and on a bad machine."""

import importlib.util
import json
import os
import resource
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_edu.cli import doctor as doctor_module
from kafka_edu.cli.doctor import (
    Finding,
    Verdict,
    check_disk,
    check_file_handles,
    check_java,
    check_loopback,
    check_memory,
    check_ports,
    check_python,
    doctor,
    examine,
)


def test_this_machine_can_run_the_main_job() -> None:
    bad = [finding for finding in examine() if finding.verdict is Verdict.BAD]
    assert bad == []


def test_everything_amiss_comes_with_advice() -> None:
    assert all(finding.advice for finding in examine() if finding.verdict is not Verdict.OK)


def test_python_says_which() -> None:
    (finding,) = check_python()
    assert finding.verdict is Verdict.OK
    assert "CPython 3." in finding.seen


def test_taken_port_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setattr(doctor_module, "USUAL_PORTS", (port,))
        (finding,) = check_ports()
    assert finding.verdict is Verdict.NOTE
    assert str(port) in finding.seen
    (finding,) = check_ports()
    assert finding.verdict is Verdict.OK


def test_java_missing_is_a_note_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (finding,) = check_java()
    assert finding.verdict is Verdict.NOTE
    assert finding.seen == "none"


@pytest.mark.parametrize(
    ("version", "verdict"),
    [
        ('openjdk version "17.0.15" 2025-04-15', Verdict.OK),
        ('java version "1.8.0_292"', Verdict.NOTE),
        ('openjdk version "11.0.2"', Verdict.NOTE),
    ],
)
def test_java_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, verdict: Verdict
) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (finding,) = check_java()
    assert finding.verdict is verdict
    assert version in finding.seen


def test_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_module, "available_memory_mb", lambda: 100)
    (finding,) = check_memory()
    assert finding.verdict is Verdict.NOTE
    assert "--brokers 1" in finding.advice


def test_disk_that_folds_case_and_one_that_does_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    findings = list(check_disk(tmp_path / "home"))
    assert [finding.what for finding in findings] == ["Disk", "File names"]
    assert findings[1].verdict is Verdict.OK
    assert list((tmp_path / "home").iterdir()) == [], "the probe is gone"
    monkeypatch.setattr(Path, "exists", lambda self: True)
    assert list(check_disk(tmp_path / "home"))[1].verdict is Verdict.NOTE


def test_disk_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (finding,) = check_disk(tmp_path / "file" / "home")
    assert finding.verdict is Verdict.BAD
    assert "KAFKA_EDU_HOME" in finding.advice


@pytest.mark.parametrize(
    ("soft", "verdict"), [(100, Verdict.BAD), (1024, Verdict.NOTE), (65_536, Verdict.OK)]
)
def test_file_handles(monkeypatch: pytest.MonkeyPatch, soft: int, verdict: Verdict) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (soft, resource.RLIM_INFINITY))
    (finding,) = check_file_handles()
    assert finding.verdict is verdict


def test_loopback() -> None:
    (finding,) = check_loopback()
    assert finding.verdict is Verdict.OK


def test_command_writes_json_and_exits_with_1_when_something_is_bad(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path / "home"))
    file = tmp_path / "doctor.json"
    good = CliRunner().invoke(doctor, ["--json", str(file)])
    assert good.exit_code == 0
    assert "All that `./kafka-edu demo` needs is here." in good.output
    assert {row["what"] for row in json.loads(file.read_text())} >= {
        "Python",
        "Java",
        "Ports",
        "Memory",
        "Disk",
        "File handles",
        "Locale",
    }
    monkeypatch.setattr(
        doctor_module,
        "CHECKS",
        (lambda: iter([Finding("Disk", Verdict.BAD, "full", "clear some")]),),
    )
    bad = CliRunner().invoke(doctor, [])
    assert bad.exit_code == 1
    assert "clear some" in bad.output
    assert os.path.exists(file)
