"""The wheel: what it holds, and that it works outside the repository."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OURS = {
    "kafka_edu",
    "kafka_edu_tui",
    "kafka_edu_chapters",
    "kafka_edu_labs",
    "kafka_edu_benchmarks",
}
FOLDERS = {
    "tui": "kafka_edu_tui",
    "chapters": "kafka_edu_chapters",
    "exercises": "kafka_edu_labs",
    "benchmarks": "kafka_edu_benchmarks",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel with the backend that is installed, so that no network is needed."""
    pytest.importorskip(
        "hatchling", reason="the build backend comes with the group dev: ./kafka-edu setup dev"
    )
    target = tmp_path_factory.mktemp("wheel")
    build = f"from hatchling.build import build_wheel; print(build_wheel({str(target)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return target / done.stdout.split()[-1]


@pytest.mark.dev
def test_only_our_own_names_go_into_site_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert "kafka_edu" in tops
    assert tops <= OURS
    assert not [
        name
        for name in names
        if "/tests/" in name or name.endswith(".pyc") or "__pycache__" in name
    ]


@pytest.mark.dev
def test_every_module_of_the_checkout_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for folder, package in {"kafka_edu": "kafka_edu", **FOLDERS}.items():
        modules = {
            path.relative_to(ROOT / folder).as_posix() for path in (ROOT / folder).rglob("*.py")
        }
        assert {f"{package}/{module}" for module in modules} <= names


@pytest.mark.dev
def test_the_command_works_outside_the_repository(wheel: Path, tmp_path: Path) -> None:
    """The command runs in a fresh environment that sees the installed dependencies, in a folder
    with a difficult name, and without PYTHONPATH.
    """
    home = tmp_path / "Ort mit Leerzeichen und ü"
    venv.create(home / "env", with_pip=False, symlinks=True)
    python = home / "env" / "bin" / "python"
    site = Path(
        sysconfig.get_path(
            "purelib", vars={"base": str(home / "env"), "platbase": str(home / "env")}
        )
    )
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    outside = home / "elsewhere"
    outside.mkdir()
    (outside / "click.py").write_text("raise SystemExit('imported from the current folder')\n")
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith("PYTHON")
    } | {"KAFKA_EDU_HOME": str(home / "state")}
    # what an installer makes of the entry point kafka-edu
    start = "import sys; from kafka_edu.cli.main import main; sys.argv[0] = 'kafka-edu'; main()"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python, "-P", "-c", start, *arguments],
            cwd=outside,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    help_ = run("--help")
    assert help_.returncode == 0, help_.stderr
    assert "demo" in help_.stdout
    assert re.search("doctor +Check this machine", help_.stdout)
    demos = run("demo", "--help")
    assert demos.returncode == 0, demos.stderr
    assert {"web-log", "chain", "transactions", "watches"}.issubset(demos.stdout.split())
    doctor = run("doctor", "--json", "doctor.json")
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    assert "pip install 'kafka-edu[spark]'" in doctor.stdout or "Spark" in doctor.stdout
    assert json.loads((outside / "doctor.json").read_text(encoding="utf-8"))
    origin = subprocess.run(
        [python, "-P", "-c", "import kafka_edu; print(kafka_edu.__file__)"],
        cwd=outside,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(origin.stdout.strip()).is_relative_to(site), "it is the installed package that ran"


def test_locks_name_no_host_and_hash_everything() -> None:
    for lock in sorted((ROOT / "requirements").glob("*.txt")):
        lines = lock.read_text(encoding="ascii").splitlines()
        assert not [line for line in lines if "://" in line or "index" in line], lock.name
        pinned = [line for line in lines if "==" in line]
        assert pinned
        assert all(line.endswith("\\") for line in pinned), (
            f"{lock.name}: each pin is followed by its hashes"
        )


def test_locks_agree_with_the_pins() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"main": project["dependencies"], **project["optional-dependencies"]}
    for group, pins in groups.items():
        locked = (ROOT / "requirements" / f"{group}.txt").read_text(encoding="ascii")
        assert [pin for pin in pins if f"{pin} " not in locked] == [], (
            f"run requirements/compile: {group}.txt is old"
        )
