"""The modules of replication import one another one way only."""

from pathlib import Path

import pytest

import kafka_edu
from tests.unit.replication.import_graph import circles, figure, import_graph


def test_replication_has_no_circle_of_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(kafka_edu.__file__).parents[1])
    graph = import_graph(Path("kafka_edu/replication"))
    assert len(graph) > 20
    assert circles(graph) == []
    assert graph["partitions"] >= {"partition"}
    assert not graph["partition"] & {"partitions", "replica_manager"}


def test_imports_inside_functions_and_for_types_alone_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "p"
    package.mkdir()
    (package / "a.py").write_text("def f():\n    from p import b\n")
    (package / "b.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.c import C\n"
    )
    (package / "c.py").write_text("import p.a\n")
    (package / "d.py").write_text("import os\nfrom p.a import f\n")
    monkeypatch.chdir(tmp_path)
    graph = import_graph(Path("p"))
    assert graph == {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert circles(graph) == [{"a", "b", "c"}]
    drawn = figure(graph).source
    assert "a -> b [color=red]" in drawn
    assert "d -> a\n" in drawn
