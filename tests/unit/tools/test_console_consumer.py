"""The end of the console consumer: by its own limits with 0, by its client's error with a message
and 1.
"""

from types import SimpleNamespace
from typing import Any

import kafka
import pytest
from kafka.errors import UnsupportedCodecError

from kafka_edu.tools.console_consumer import ConsumerOptions, check, consume


class Consumer:
    """Stands in for kafka-python's consumer: gives two records, then does what `ends` says."""

    ends: Exception | None = None

    def __init__(self, **settings: Any) -> None:
        self._records = [
            SimpleNamespace(
                topic="t",
                partition=0,
                offset=i,
                key=None,
                value=b"v%d" % i,
                timestamp=0,
                timestamp_type=0,
            )
            for i in range(2)
        ]
        self.closed = False

    def subscribe(self, topics: list[str]) -> None:
        pass

    def poll(self, timeout_ms: int) -> dict[str, list[SimpleNamespace]]:
        if self._records:
            return {"t-0": [self._records.pop(0)]}
        if self.ends is not None:
            raise self.ends
        return {}

    def seek(self, partition: object, offset: int) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    "error",
    [
        UnsupportedCodecError("Libraries for lz4 compression codec not found"),
        RuntimeError("LZ4F_decompress failed"),
        OSError("socket gone"),
    ],
    ids=["codec", "damaged", "wire"],
)
def test_an_error_of_the_client_is_told_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], error: Exception
) -> None:
    monkeypatch.setattr(Consumer, "ends", error)
    assert run(monkeypatch) == 1
    out, err = capfdbinary.readouterr()
    assert out == b"v0\nv1\n"
    assert b"Error processing message, terminating consumer process" in err
    assert str(error).encode() in err
    assert err.endswith(b"Processed a total of 2 messages\n")


def test_its_own_limits_end_with_0(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(monkeypatch, "--timeout-ms", "10") == 0
    assert b"TimeoutException" in capfdbinary.readouterr().err
    assert run(monkeypatch, "--max-messages", "1") == 0


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(kafka, "KafkaConsumer", Consumer)
    options = ConsumerOptions()
    monkeypatch.setattr(
        Consumer,
        "DEFAULT_CONFIG",
        {"group_id": None, "client_id": "", "session_timeout_ms": 1, "auto_offset_reset": ""},
        raising=False,
    )
    reading = check(
        options, options.parser.parse(["--bootstrap-server", "a:1", "--topic", "t", *words])
    )
    return consume(reading)
