"""Ctrl-C ends the reader of an input, even if it comes just before the reader waits."""

import _thread
import io
import operator
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from kafka_edu.common.interruptible_input import InterruptibleInput


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reads, writes = os.pipe()
    yield reads, writes
    os.close(reads)
    with suppress(OSError):  # the test has closed it
        os.close(writes)


def test_it_reads_lines_up_to_the_end(pipe: tuple[int, int]) -> None:
    os.write(pipe[1], "one\nzwei ü\nlast".encode())
    os.close(pipe[1])
    with InterruptibleInput(pipe[0]) as raw:
        lines = list(io.TextIOWrapper(io.BufferedReader(raw), encoding="utf-8"))
    assert lines == ["one\n", "zwei ü\n", "last"]
    os.fstat(pipe[0])  # it is still open


def test_a_signal_just_before_the_wait_ends_it(pipe: tuple[int, int]) -> None:
    """`map` calls both functions in C, so Python cannot handle the signal between them."""
    with InterruptibleInput(pipe[0]) as raw, pytest.raises(KeyboardInterrupt):
        list(map(operator.call, [_thread.interrupt_main, raw._wait]))


def test_a_signal_with_a_handler_that_raises_nothing_does_not_end_the_input(
    pipe: tuple[int, int],
) -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    try:
        with InterruptibleInput(pipe[0]) as raw:
            _thread.interrupt_main(signal.SIGUSR1)
            assert raw._wait()[0] != [pipe[0]], "it is woken"
            threading.Timer(0, os.write, [pipe[1], b"x"]).start()
            assert raw.read(10) == b"x"
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [signal.SIGUSR1]


def test_the_signals_of_the_rest_of_the_program_are_as_before(pipe: tuple[int, int]) -> None:
    before = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(before)
    with InterruptibleInput(pipe[0]) as raw:
        raw.close()
    assert signal.set_wakeup_fd(before) == before
