"""A blocking client has an event loop in its own thread. These tests call it from the program's
thread.
"""

import asyncio
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from types import FrameType

import pytest

from kafka_edu.clients.blocking.loop_thread import LoopThread, WrongThreadException, in_caller
from tests.waiting import PATIENCE_S


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    thread = LoopThread("test")
    yield thread
    thread.stop()


async def answer() -> int:
    await asyncio.sleep(0)
    return 42


def test_a_call_returns_its_result_or_raises_its_error(thread: LoopThread) -> None:
    async def fail() -> None:
        raise ValueError("no")

    assert thread.run(answer) == 42
    with pytest.raises(ValueError, match="no"):
        thread.run(fail)
    assert thread.run(answer) == 42


def test_a_call_works_while_another_loop_runs_in_this_thread(thread: LoopThread) -> None:
    async def cell() -> int:
        return thread.run(answer)

    assert asyncio.run(cell()) == 42


def test_a_signal_cancels_the_call_and_the_loop_goes_on(thread: LoopThread) -> None:
    steps: list[str] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    async def wait_for_ever() -> None:
        steps.append("begins")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("ended")

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            thread.run(wait_for_ever)
        assert steps == ["begins", "ended"]
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert thread.run(answer) == 42


def test_a_call_may_let_the_programs_thread_work_which_may_call_again(thread: LoopThread) -> None:
    seen: list[tuple[int, int]] = []

    def listener() -> None:
        seen.append((threading.get_ident(), thread.run(answer)))

    async def poll() -> str:
        await in_caller(listener)
        return "polled"

    assert thread.run(poll) == "polled"
    assert seen == [(threading.get_ident(), 42)]


def test_an_error_of_that_work_comes_out_of_the_call(thread: LoopThread) -> None:
    def listener() -> None:
        raise ValueError("of the listener")

    with pytest.raises(ValueError, match="of the listener"):
        thread.run(lambda: in_caller(listener))


def test_a_callback_in_the_loops_own_thread_cannot_wait_for_it(thread: LoopThread) -> None:
    async def callback() -> None:
        thread.run(answer)

    with pytest.raises(WrongThreadException, match="cannot wait for the client"):
        thread.run(callback)


def test_stop_ends_the_calls_of_other_threads() -> None:
    thread = LoopThread("test")
    began, ended = threading.Event(), threading.Event()

    async def wait_for_ever() -> None:
        began.set()
        await asyncio.Event().wait()

    def call() -> None:
        with pytest.raises(CancelledError):
            thread.run(wait_for_ever)
        ended.set()

    caller = threading.Thread(target=call)
    caller.start()
    assert began.wait(PATIENCE_S)
    thread.stop()
    caller.join(PATIENCE_S)
    assert ended.is_set()
    thread.stop()


def test_a_call_that_begins_while_another_thread_stops_the_loop_ends() -> None:
    for _ in range(100):
        thread = LoopThread("test")
        ended = threading.Semaphore(0)

        def call(thread: LoopThread = thread, ended: threading.Semaphore = ended) -> None:
            try:
                while True:
                    thread.run(answer)
            except CancelledError:
                ended.release()

        callers = [threading.Thread(target=call, daemon=True) for _ in range(3)]
        for caller in callers:
            caller.start()
        thread.run(answer)
        thread.stop()
        for _ in callers:
            assert ended.acquire(timeout=PATIENCE_S)
        with pytest.raises(CancelledError):
            thread.run(answer)
        with pytest.raises(CancelledError):
            thread.call_soon(callers.clear)
