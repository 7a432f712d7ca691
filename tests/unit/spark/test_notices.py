"""Notices of Spark's workers reach the user, although the JVM prints much else."""

import io
import logging

import pytest

from kafka_edu.spark.java_gateway import _Output
from kafka_edu.spark.notices import give_notice, notice_in


def test_a_notice_is_one_line_with_a_mark(capsys: pytest.CaptureFixture[str]) -> None:
    give_notice("web-0 is gone.\n  Read on")
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert notice_in(line) == "web-0 is gone. Read on"
    assert notice_in("26/11/24 WARN Utils: nothing of ours\n") is None


def test_the_output_of_the_jvm_shows_notices_alone(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    output = _Output(io.BytesIO(b"WARN noise\nkafka-edu: t-0 has lost 100 % of it\nError: last\n"))
    assert output.so_far().endswith("Error: last\n")
    assert caplog.messages == ["t-0 has lost 100 % of it"]
