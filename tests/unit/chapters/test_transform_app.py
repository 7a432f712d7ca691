"""The part of `transform_app` that needs no broker. tests/interop/test_transactions.py and `demo
transactions` test the rest.
"""

import subprocess
import sys

from kafka_edu.common.python_process import python_environment

WAITS = """
import time
from chapters.ch15_exactly_once.transform_app import ending_the_process_after

with ending_the_process_after(0.1):
    time.sleep(3600)
"""


def test_a_block_that_waits_for_ever_ends_the_process() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WAITS],
        env=python_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert "Timeout" in ended.stderr
