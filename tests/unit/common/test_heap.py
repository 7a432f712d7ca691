"""Cycles are freed, and free memory of the C library's heap is given back."""

import ctypes
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from kafka_edu.common.heap import collect_garbage, heap_trimmer, keep_large_blocks_apart
from tests.without_collector import without_collector


def rss_anon_kb() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    raise AssertionError("Linux says RssAnon")


class Half:
    """One of two objects that refer to each other."""

    other: "Half | None" = None


def test_objects_that_only_refer_to_each_other_are_freed() -> None:
    with without_collector():
        first, second = Half(), Half()
        first.other, second.other = second, first
        left = weakref.ref(first)
        del first, second
        assert left() is not None, "nothing else frees a cycle"
        assert collect_garbage() > 0, "the time that it took"
        assert left() is None


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


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallopt") or sys.platform != "linux",
    reason="only glibc has this setting",
)
def test_the_memory_of_large_blocks_goes_back_with_them() -> None:
    """The test runs in a separate process, because the setting changes the whole process."""
    program = """
from kafka_edu.common.heap import keep_large_blocks_apart
from tests.unit.common.test_heap import rss_anon_kb
keep_large_blocks_apart()
bytearray(30 << 20)  # its end would raise glibc's limit to 30 MiB
before = rss_anon_kb()
blocks = [b"x" * (20 << 20) for _ in range(3)]
del blocks[:2]  # below one that stays
print(rss_anon_kb() - before)
"""
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert 20_000 <= int(said) < 30_000


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallopt") or sys.platform != "linux",
    reason="only glibc has this setting",
)
def test_little_of_the_end_of_the_heap_stays_when_its_blocks_are_freed() -> None:
    """Two blocks of 3 MiB are at the end of the heap, as parts of large requests are. They go back
    to the system without a call of `heap_trimmer`.
    """
    program = """
from kafka_edu.common.heap import keep_large_blocks_apart
from tests.unit.common.test_heap import rss_anon_kb
keep_large_blocks_apart()
before = rss_anon_kb()
blocks = [b"x" * (3 << 20) for _ in range(2)]
print(rss_anon_kb() - before)
blocks.clear()
print(rss_anon_kb() - before)
"""
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    used, left = map(int, said.split())
    assert used >= 6_000
    assert left < 4_500


def test_another_c_library_has_nothing_to_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert heap_trimmer() is None
    keep_large_blocks_apart()
