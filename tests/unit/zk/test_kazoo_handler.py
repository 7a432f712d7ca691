"""The handler between kazoo's thread and the loop: the order of calls, how the loop is woken, and
the objects with which kazoo waits.
"""

import asyncio
import os
import threading
from collections.abc import Callable

import pytest

from kafka_edu.zk.kazoo_handler import MAX_STEPS, LoopHandler


def in_a_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


async def turn() -> None:
    """Let the loop run everything that has been scheduled."""
    for _ in range(2):
        await asyncio.sleep(0)


def test_what_was_read_enters_the_loop_when_nothing_is_left_to_read() -> None:
    async def use() -> None:
        handler = LoopHandler()
        handler.attach(asyncio.get_running_loop())
        read, write = handler.create_socket_pair()
        entered: list[int] = []

        def answer(number: int) -> None:
            result = handler.async_result()
            result.rawlink(lambda done: entered.append(done.value))
            result.set(number)

        def read_two_answers() -> None:
            write.send(b"\0")
            answer(1)
            assert handler.select([read], [], [], 0) == ([read], [], [])
            answer(2)

        in_a_thread(read_two_answers)
        await turn()
        assert entered == [], "there was more to read"
        read.recv(1)
        in_a_thread(lambda: handler.select([read], [], [], 0))
        await turn()
        assert entered == [1, 2]
        read.close()
        write.close()

    asyncio.run(use())


def test_many_steps_wake_the_loop_even_if_there_is_more_to_read() -> None:
    async def use() -> None:
        handler = LoopHandler()
        handler.attach(asyncio.get_running_loop())
        entered: list[int] = []

        def enter_all() -> None:
            for number in range(MAX_STEPS):
                handler.enter(lambda number=number: entered.append(number))  # type: ignore[misc]

        in_a_thread(enter_all)
        await turn()
        assert entered == list(range(MAX_STEPS))

    asyncio.run(use())


def test_a_step_of_the_loop_itself_needs_no_thread_to_wake_it() -> None:
    async def use() -> None:
        handler = LoopHandler()
        handler.attach(asyncio.get_running_loop())
        failed = handler.async_result()
        failed.set_exception(ConnectionError("closed"))
        errors: list[BaseException | None] = []
        failed.rawlink(lambda result: errors.append(result.exception))
        await turn()
        assert [str(error) for error in errors] == ["closed"]

    asyncio.run(use())


def test_select_says_which_files_are_ready() -> None:
    handler = LoopHandler()
    empty, empty_writer = handler.create_socket_pair()
    full, full_writer = handler.create_socket_pair()
    full_writer.send(b"\0")
    assert handler.select([empty, full], [empty_writer], [], 0) == ([full], [empty_writer], [])
    assert handler.select([empty], [], [], 0) == ([], [], [])
    for end in (empty, empty_writer, full, full_writer):
        end.close()


def test_requests_while_kazoo_reconnects_do_not_block_the_loop() -> None:
    """kazoo is woken with a byte for each request, and reads none while it reconnects."""
    read, write = LoopHandler().create_socket_pair()
    os.set_blocking(write.fileno(), False)  # raises BlockingIOError where it would block
    for _ in range(10_000):
        assert write.send(b"\0") == 1
    write.close()
    read.close()


def test_a_result_raises_the_error_that_was_set() -> None:
    result = LoopHandler().async_result()
    result.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        result.get()
