"""A Python that has only numpy and pyarrow, like the Python of an executor in a cluster."""

import json
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark


def test_it_has_numpy_and_pyarrow_and_nothing_of_ours(tmp_path: Path) -> None:
    from kafka_edu.spark.bare_python import make_bare_python

    names = ["numpy", "pyarrow", "pyspark", "pandas", "kafka_edu", "confluent_kafka"]
    look = (
        "import importlib.util, json, sys, numpy, pyarrow;"
        "print(json.dumps([n for n in sys.argv[1:] if importlib.util.find_spec(n)]))"
    )
    answer = subprocess.run(
        [str(make_bare_python(tmp_path / "python")), "-c", look, *names],
        capture_output=True,
        text=True,
        check=True,
        env={},
        cwd=tmp_path,
    )
    assert json.loads(answer.stdout) == ["numpy", "pyarrow"]
