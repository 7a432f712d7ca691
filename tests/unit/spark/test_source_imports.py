"""A Python process of Spark's source imports only what it needs before its first answer."""

import json
import subprocess
import sys

import pytest

_SHOW = """
import json, sys
import kafka_edu.spark.data_source
print(json.dumps(sorted(name for name in sys.modules if name.startswith("kafka_edu."))))
"""


def test_the_source_imports_four_of_kafkas_messages() -> None:
    """Spark starts a Python process for each query. Importing the classes of all messages would
    make each start 0.1 s longer.
    """
    pytest.importorskip("pyspark", reason="PySpark is not installed: ./kafka-edu setup spark")
    run = subprocess.run(
        [sys.executable, "-c", _SHOW], capture_output=True, text=True, check=True, timeout=300
    )
    found = set(json.loads(run.stdout))
    before = "kafka_edu.protocol.messages."
    assert {name.removeprefix(before) for name in found if name.startswith(before)} == {
        "api_versions",
        "fetch",
        "list_offsets",
        "metadata",
    }
    assert not found & {"kafka_edu.spark.arrow_records", "kafka_edu.spark.produce_client"}
