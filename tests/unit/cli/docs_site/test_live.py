"""The folder of the live page: the files in it, and the message if it cannot be built."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

from kafka_edu.cli.docs_site import build as site_module
from kafka_edu.cli.docs_site.live import build as build_module
from kafka_edu.cli.docs_site.live import npm_packages, python_files
from kafka_edu.cli.docs_site.live.build import build_live, loaded
from kafka_edu.cli.docs_site.live.npm_packages import LiveError, fetched

ROOT = Path(__file__).resolve().parents[4]
LOCKED = ROOT / "page" / "npm"
IMPORTS = """\
import importlib.machinery, json, sys, types
allowed = set(json.load(sys.stdin))
class OnlyTheArchive:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numpy", "resource", "kazoo", "uvloop"):
            raise ImportError(f"{name} is not in the page")
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        origin = spec.origin if spec is not None else None
        if origin and origin.startswith(tuple(sys.argv[1:])) and origin not in allowed:
            raise ImportError(f"{name} is not in the archive: {origin}")
        return spec
sys.meta_path.insert(0, OnlyTheArchive())
zstd = types.ModuleType("compression.zstd")
sys.modules["compression"] = types.ModuleType("compression")
sys.modules["compression"].zstd = sys.modules["compression.zstd"] = zstd  # Python 3.14 has it
sys.path[:0] = sys.argv[1:]
import page.start
assert "click" not in sys.modules, "it is loaded with the exercises only"
import page.exercise
print(sorted(name for name in sys.modules if name.partition(".")[0] == "page"))

from kafka_edu.sim.scenario import language
from kafka_edu.sim.scenario.scenario_run import ScenarioRun

def note(fact):
    if type(fact.event).__name__ == "LoadStopped":
        load = fact.event.load
        print("the load:", load.acked > 300, load.read == load.acked, load.error)

ScenarioRun(language.parse(LOAD, "load"), 1, on_fact=note).play()
"""
LOAD = """\
> cluster brokers=3 sim.cluster=real
> at 1s load topic=web rate=300 for 6s
> run 9s
> settle 3s
"""


def test_the_modules_in_the_page_need_no_others() -> None:
    """Import what the worker imports, and refuse each module that is not in the archive.

    Then run a simulated load, because some modules are imported only when they are needed.
    """
    files = {**python_files.package_files(), **python_files.our_files(ROOT)}
    packages = Path(str(distribution("textual").locate_file(""))).resolve()
    paths = [str(path) for path in (ROOT / "page" / "instead", ROOT, packages)]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"LOAD = {LOAD!r}\n{IMPORTS}", *paths],
        input=json.dumps([str(path.resolve()) for path in files.values()]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "page.start" in done.stdout, done.stderr
    assert "page.exercise" in done.stdout
    assert "the load: True True \n" in done.stdout, "all acked records are read, and no error"
    assert not [name for name in files if name.startswith(("kafka_edu/tools/", "tui/draw/"))]
    assert "kafka_edu/spark/stream_job.py" not in files


def test_the_lock_has_a_hash_for_each_package_and_names_no_host() -> None:
    text = (LOCKED / "package-lock.json").read_text(encoding="utf-8")
    assert "://" not in text
    packages = json.loads(text)["packages"]
    wanted = json.loads((LOCKED / "package.json").read_text(encoding="utf-8"))
    for name, version in (wanted["dependencies"] | wanted["devDependencies"]).items():
        assert packages[f"node_modules/{name}"]["version"] == version, "an exact version"
    assert all("integrity" in entry for name, entry in packages.items() if name)


def made_modules(folder: Path) -> Path:
    """Make small packages in place of Pyodide and xterm.js."""
    for name, (_, files) in build_module._FROM_NPM.items():
        about = {"version": "1.2.3", "license": "MIT"}
        for file, text in ((each, "x" * 10) for each in files):
            (folder / name / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / name / file).write_text(text, encoding="utf-8")
        (folder / name / "package.json").write_text(json.dumps(about), encoding="utf-8")
        (folder / name / "LICENSE").write_text("You may.", encoding="utf-8")
    lock = {"info": {"python": "3.14.2"}, "packages": {"numpy": {"file_name": "numpy.whl"}}}
    (folder / "pyodide" / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    return folder


def test_the_folder_has_all_that_the_page_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = made_modules(tmp_path / "node_modules")
    monkeypatch.setattr(build_module, "fetched", lambda locked: modules)
    packed = python_files.Packed(b"zip" * 9, b"exercises", b"memory")
    monkeypatch.setattr(python_files, "packed", lambda files, modules, script: packed)
    folder = tmp_path / "live"
    build_live(ROOT, folder, [])
    page = (folder / "index.html").read_text(encoding="utf-8")
    page += (folder / "exercise.html").read_text(encoding="utf-8")
    names = ("worker.js", "exercise-worker.js", "python.js")
    scripts = [(folder / name).read_text(encoding="utf-8") for name in names]
    named = re.findall(r'(?:src|href)="([\w./-]+)"', page)
    named += re.findall(r'(?:fetched\(|from |\[|, )"([\w./-]+\.\w+)"', "".join(scripts))
    assert {"page.js", "xterm/xterm.js", "./pyodide/pyodide.mjs", "python.zip"} <= set(named)
    assert {"snapshot.bin", "./pyodide/pyodide.asm.mjs", "exercises.zip"} <= set(named)
    assert not [name for name in named if not (folder / name).is_file()]
    lock = json.loads((folder / "pyodide" / "pyodide-lock.json").read_text(encoding="utf-8"))
    assert lock["packages"] == {}, "no package of Pyodide's is loaded"

    sizes = loaded(folder)
    assert sizes["python.zip"] == 27
    assert sizes["keep.js"] == (folder / "keep.js").stat().st_size, "as it is served"
    assert not [name for name in sizes if name.startswith(("licences", "scenarios"))]
    keeper = (folder / "keep.js").read_text(encoding="utf-8")
    assert "@" not in keeper.partition("addEventListener")[0], "the version and the files"
    kept = json.loads(keeper.partition("FILES = ")[2].partition(";")[0])
    assert {"./", "scenarios/first.sim", *sizes} - {"keep.js"} <= set(kept)
    assert len(kept) == len(set(kept)), "a browser refuses a list with a file twice"

    licences = (folder / "licences.html").read_text(encoding="utf-8")
    for name in ("pyodide", "@xterm/xterm", *python_files.PACKAGES):
        assert f"<td>{name}</td>" in licences
    texts = re.findall(r'href="(licences/[^"]+)"', licences)
    assert len(texts) >= len(python_files.PACKAGES)
    assert all((folder / text).is_file() for text in texts)


def test_the_page_gets_the_exercises_without_their_solutions() -> None:
    names = set(python_files.exercise_files(ROOT))
    folder = "exercises/ch02_timing_wheel/ex01_timing_wheel_add"
    assert {f"{folder}/{file}" for file in ("README.md", "starter.py", "hints.md")} <= names
    assert "exercises/ch02_timing_wheel/places.py" in names
    assert not [name for name in names if "solution" in name or "/wrong/" in name]
    assert not [name for name in names if name.endswith("hidden_tests.py")]


def test_a_compiled_module_belongs_to_its_source() -> None:
    compiled = "tui/screens/__pycache__/registry.cpython-314.pyc"
    assert python_files.source_of(compiled) == "tui/screens/registry.py"
    assert python_files.source_of("tui/screens/registry.py") == "tui/screens/registry.py"
    assert python_files.source_of("tui/themes.tcss") == "tui/themes.tcss"


def test_the_scenarios_of_the_page_can_be_read() -> None:
    from kafka_edu.sim.scenario.language import read

    scenarios = list((ROOT / "page" / "web" / "scenarios").glob("*.sim"))
    assert scenarios
    for path in scenarios:
        assert read(path).brokers >= 3


def test_without_node_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npm_packages.shutil, "which", lambda name: None)
    with pytest.raises(LiveError, match=r"needs npm, which is not installed\. Install Node"):
        fetched(LOCKED)


def fake_npm(folder: Path, script: str) -> str:
    program = folder / "npm"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return str(program)


def test_packages_are_fetched_once_and_a_failure_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path), os.environ["PATH"]]))
    fake_npm(tmp_path, "echo 'npm error code ENOTFOUND' >&2; echo more >&2; exit 1")
    with pytest.raises(LiveError) as failed:
        fetched(LOCKED)
    assert str(failed.value).count("\n") == 0
    assert "npm cannot fetch the page's packages: npm error code ENOTFOUND" in str(failed.value)
    fake_npm(tmp_path, 'echo "$@" >> calls; mkdir -p node_modules')
    modules = fetched(LOCKED)
    assert fetched(LOCKED) == modules, "the second time nothing is fetched"
    assert fetched(LOCKED, dev=True) != modules
    calls = (modules.parent / "calls").read_text(encoding="utf-8").splitlines()
    assert [call.split()[0] for call in calls] == ["ci"]
    assert "--ignore-scripts" in calls[0]
    assert "--omit=dev" in calls[0]


def test_a_page_that_cannot_be_built_is_an_error_of_the_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> str:
        raise LiveError("the page needs npm")

    monkeypatch.setattr(site_module, "stage", lambda tree, folder: "digest")
    monkeypatch.setattr(site_module, "digest_of", refuse)
    with pytest.raises(site_module.SiteError, match="the page needs npm"):
        site_module.build(ROOT, tmp_path / "site", live=True)
