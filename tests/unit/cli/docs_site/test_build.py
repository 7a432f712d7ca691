"""The site of this checkout is built in strict mode, and each mistake that a user can make is
reported in one line.
"""

import importlib.util
import json
import socket
import threading
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from exercises.runner.manifest import ROOT as EXERCISES
from exercises.runner.manifest import load_manifest
from kafka_edu.cli.docs_site import build as build_module
from kafka_edu.cli.docs_site import command
from kafka_edu.cli.docs_site.build import STAMP, SiteError, build
from kafka_edu.cli.docs_site.casts import films_of
from kafka_edu.common.package_group import PackageGroupError
from tests.drawn import drawn

ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.docs
@pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None,
    reason="MkDocs comes with the group docs: ./kafka-edu setup docs",
)
@pytest.mark.rotated
def test_the_site_is_built_searches_chinese_and_needs_no_other_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`build` itself follows each link and refuses links to other hosts. So for the links it is
    enough that `build` returns.

    Making a film takes several seconds, so each commit makes only three of the films.
    """
    monkeypatch.setattr(build_module, "films_of", lambda tree: drawn(films_of(tree), 3))
    site = build(ROOT, tmp_path / "site")
    assert len(list((site.folder / "assets/casts").glob("*.js"))) > 3, "the films and the player"
    assert site.built
    for page in ("index.html", "docs/glossary.html", "chapters/ch02_timing_wheel/index.html"):
        assert (site.folder / page).is_file()
    index = json.loads((site.folder / "search/search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"] for entry in index["docs"] if "时间轮" in entry["text"]}
    assert "docs/glossary.html" in found
    assert not [entry for entry in index["docs"] if entry["location"].startswith("source/")]
    worker = (site.folder / "assets/search-worker.js").read_text(encoding="utf-8")
    labs = (site.folder / "docs/labs.html").read_text(encoding="utf-8")
    navigation = labs.partition('data-md-level="0"')[2].partition("</nav>\n    </div>")[0]
    for exercise in load_manifest().values():
        page = f"exercises/{exercise.folder.relative_to(EXERCISES).as_posix()}/exercise.html"
        assert f"../{page}" in navigation, "the list of labs has each exercise"
    assert "lunr" in json.loads(worker.removeprefix("window.searchWorkerSource = ").strip(";\n"))
    assert not build(ROOT, site.folder).built  # nothing has changed


def test_a_folder_with_other_files_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(
        SiteError, match="other files than a site of kafka-edu, so nothing was changed there"
    ):
        build(ROOT, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(SiteError, match="is a file"):
        build(ROOT, tmp_path / "thesis.txt")
    assert not (tmp_path / STAMP).exists()


def test_a_port_that_is_taken_is_said_in_one_line() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = CliRunner().invoke(command.docs, ["serve", "--port", str(port)])
    assert result.exit_code == 1
    assert result.output.count("\n") == 1
    assert f"cannot serve on port {port} of 127.0.0.1: another program listens" in result.output


def test_missing_packages_without_a_network_are_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(group: str, *modules: str) -> None:
        raise PackageGroupError(f"{', '.join(modules)} is not installed.\nSet PIP_INDEX_URL.")

    monkeypatch.setattr(command, "ensure_group", refuse)
    result = CliRunner().invoke(command.docs, ["build", "--to", str(tmp_path / "site")])
    assert result.exit_code == 1
    assert result.output.splitlines()[-1].endswith("read docs/index.md in any editor.")
    assert result.output.count("\n") == 1
    assert not (tmp_path / "site").exists()


def test_a_folder_is_served_on_the_loopback_interface_alone(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("时间轮", encoding="utf-8")
    with command.server_of(tmp_path, 0) as server:
        host, port = server.socket.getsockname()
        assert host == "127.0.0.1"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
                assert answer.read().decode() == "时间轮"
        finally:
            server.shutdown()
            thread.join()
