"""The zip with our code for executors has all modules that a task imports. A task needs no other
code of ours.
"""

import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_edu.spark.code_zip import NAME, PACKAGE, code_modules, send_code, write_code_zip

ROOT = Path(__file__).resolve().parents[3]

#: Import each module of the zip in a Python that has only the standard library and these packages.
IMPORT_ALL = """
import importlib, importlib.abc, sys, zipfile
archive, site, *allowed = sys.argv[1:]

class OnlyThese(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        python = {*sys.stdlib_module_names, "kafka_edu"}
        if top not in python and top not in allowed and not top.startswith("_sysconfigdata"):
            raise ModuleNotFoundError(f"an executor has no {name}", name=name)

sys.path = [archive, *(path for path in sys.path if "site-packages" not in path)]
sys.path += [site] if site else []
sys.meta_path.insert(0, OnlyThese())
names = zipfile.ZipFile(archive).namelist()
for name in names:
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    found = importlib.import_module(module)
    assert found.__file__.startswith(archive), found.__file__
print(len(names))
"""


def import_all(archive: Path, folder: Path, site: str, *allowed: str) -> str:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", IMPORT_ALL, str(archive), site, *allowed],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_planner_and_the_client_need_only_python(tmp_path: Path) -> None:
    modules = code_modules(["kafka_edu.spark.fetch_client", "kafka_edu.spark.source_options"])
    write_code_zip(tmp_path / "code.zip", modules)
    assert import_all(tmp_path / "code.zip", tmp_path, "") == str(len(modules))


def test_an_executor_needs_only_numpy_pyarrow_and_spark(tmp_path: Path) -> None:
    pyspark = pytest.importorskip("pyspark", reason="PySpark is missing: ./kafka-edu setup spark")
    pytest.importorskip("pyarrow")
    modules = code_modules()
    write_code_zip(tmp_path / "code.zip", modules)
    site = str(Path(pyspark.__file__).parents[1])
    allowed = ("numpy", "pyarrow", "pyspark", "py4j")
    assert import_all(tmp_path / "code.zip", tmp_path, site, *allowed) == str(len(modules))


def test_the_zip_leaves_out_what_no_task_imports() -> None:
    modules = code_modules()
    assert "kafka_edu.spark.arrow_records" in modules  # imported inside of a function
    rooms = {module.split(".")[1] for module in modules if "." in module}
    assert not rooms & {"cli", "server", "supervisor", "controller", "replication", "zk", "tools"}


def test_the_same_code_gives_the_same_bytes(tmp_path: Path) -> None:
    modules = code_modules(["kafka_edu.spark.source_errors"])
    for name, order in {"a": modules, "b": dict(reversed(modules.items()))}.items():
        write_code_zip(tmp_path / name, order)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with zipfile.ZipFile(tmp_path / "a") as archive:
        assert archive.namelist() == [
            "kafka_edu/__init__.py",
            "kafka_edu/spark/__init__.py",
            "kafka_edu/spark/source_errors.py",
        ]


def test_every_form_of_import_is_followed(tmp_path: Path) -> None:
    """Imports by full name, relative ones, names of a package and imports inside a function are
    followed. Imports for types alone are not.
    """
    files = {
        "__init__.py": "",
        "root.py": "import kafka_edu.plain, os.path\n"
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from kafka_edu import types_only\n"
        "else:\n    from . import else_branch\n"
        "def f():\n    from kafka_edu.package import inner, function\n",
        "plain.py": "from .package.cycle import x\n",
        "types_only.py": "",
        "else_branch.py": "",
        "unused.py": "",
        "package/__init__.py": "def function(): ...\n",
        "package/inner.py": "",
        "package/cycle.py": "import kafka_edu.root\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = code_modules(["kafka_edu.root"], tmp_path)
    assert {path.relative_to(tmp_path).as_posix() for path in found.values()} == files.keys() - {
        "types_only.py",
        "unused.py",
    }
    assert found[PACKAGE] == tmp_path / "__init__.py"
    with pytest.raises(ModuleNotFoundError, match=r"no module kafka_edu\.missing"):
        code_modules(["kafka_edu.missing"], tmp_path)


class FakeContext:
    """Stands for SparkContext: it notes the files that are sent."""

    def __init__(self, master: str) -> None:
        self.master = master
        self.sent: list[str] = []

    def addPyFile(self, path: str) -> None:
        self.sent.append(path)


class FakeRemoteSession:
    """Stands for a session of Spark Connect. It notes which modules are in the files that it
    gets.
    """

    def __init__(self) -> None:
        self.sent: list[list[str]] = []

    def addArtifacts(self, path: str, *, pyfile: bool) -> None:
        assert pyfile
        with zipfile.ZipFile(path) as archive:
            self.sent.append(archive.namelist())


def test_code_is_sent_to_a_spark_connect_server(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="PySpark is missing: ./kafka-edu setup spark")
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    session: Any = FakeRemoteSession()
    send_code(session)
    (names,) = session.sent
    assert "kafka_edu/spark/data_source.py" in names


def test_code_is_sent_to_a_cluster_once_and_never_to_local_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyspark = pytest.importorskip("pyspark", reason="PySpark is missing: ./kafka-edu setup spark")
    monkeypatch.setattr(pyspark.SparkFiles, "getRootDirectory", lambda: str(tmp_path))
    local, cluster = FakeContext("local[2]"), FakeContext("spark://127.0.0.1:7077")
    for context in (local, cluster, cluster):
        session: Any = SimpleNamespace(sparkContext=context)
        send_code(session)
    assert local.sent == []
    (file,) = cluster.sent
    assert Path(file).name == NAME
    with zipfile.ZipFile(file) as archive:
        assert "kafka_edu/spark/data_source.py" in archive.namelist()
