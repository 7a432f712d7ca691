"""Free memory of the C library's heap is given back."""

import ctypes
import sys
from pathlib import Path

import pytest

from kafka_edu.common.heap import heap_trimmer


def rss_anon_kb() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    raise AssertionError("Linux says RssAnon")


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_trim") or sys.platform != "linux",
    reason="only glibc gives memory back",
)
def test_the_gaps_between_blocks_in_use_are_given_back() -> None:
    trim = heap_trimmer()
    assert trim is not None
    blocks = [b"x" * 60_000 for _ in range(1_000)]
    kept = blocks[::10]
    del blocks
    before = rss_anon_kb()
    trim()
    assert before - rss_anon_kb() > 20_000, "nine of ten blocks, in gaps"
    assert all(block == b"x" * 60_000 for block in kept)


def test_another_c_library_has_nothing_to_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert heap_trimmer() is None
