import tracemalloc

import pytest

from kafka_edu.protocol.framing import FrameReceiver, InvalidReceive


def _feed(receiver: FrameReceiver, data: bytes) -> list[bytes]:
    return receiver.feed(memoryview(data))


def _sized(*frames: bytes) -> bytes:
    return b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)


def test_whole_frames_come_out_at_once_in_order() -> None:
    receiver = FrameReceiver(100)
    assert _feed(receiver, _sized(b"a", b"bc", b"d" * 100)) == [b"a", b"bc", b"d" * 100]
    assert receiver.buffered == 0


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7])
def test_frames_may_be_cut_anywhere(step: int) -> None:
    receiver = FrameReceiver(100)
    stream = _sized(b"a", b"hello world", b"x" * 100, b"z")
    frames = [
        frame
        for at in range(0, len(stream), step)
        for frame in _feed(receiver, stream[at : at + step])
    ]
    assert frames == [b"a", b"hello world", b"x" * 100, b"z"]


def test_the_buffer_that_was_fed_may_be_overwritten() -> None:
    receiver = FrameReceiver(100)
    buffer = bytearray(_sized(b"first", b"second")[:15])
    frames = receiver.feed(memoryview(buffer))
    buffer[:] = bytes(15)
    assert frames == [b"first"]
    assert _feed(receiver, b"cond") == [b"second"]


@pytest.mark.parametrize("size", [0, -1, -(2**31), 101, 2**31 - 1])
def test_a_bad_size_ends_the_stream_after_the_frames_before_it(size: int) -> None:
    with pytest.raises(
        InvalidReceive, match=f"a frame of {size} bytes is announced; 1 to 100"
    ) as caught:
        _feed(FrameReceiver(100), _sized(b"good") + size.to_bytes(4, "big", signed=True) + b"rest")
    assert caught.value.frames == [b"good"]


def test_a_bad_size_is_seen_when_its_last_byte_comes() -> None:
    receiver = FrameReceiver(100)
    assert _feed(receiver, b"\0\0\1") == []
    with pytest.raises(InvalidReceive):
        _feed(receiver, b"\0")


def test_exactly_the_largest_size_is_taken_and_waited_for() -> None:
    receiver = FrameReceiver(100)
    assert _feed(receiver, _sized(b"x" * 100)[:-1]) == []
    assert receiver.buffered == 99
    assert _feed(receiver, b"x") == [b"x" * 100]


def test_memory_follows_what_came_and_not_what_was_announced() -> None:
    receiver = FrameReceiver(2**30)
    assert _feed(receiver, (2**30).to_bytes(4, "big") + b"x" * 10) == []
    assert receiver.buffered == 10


def test_a_large_frame_in_pieces_never_needs_its_memory_twice() -> None:
    size, step = 16 << 20, 256 << 10
    receiver = FrameReceiver(size)
    piece = memoryview(bytes(range(256)) * (step // 256))
    tracemalloc.start()
    try:
        receiver.feed(memoryview(size.to_bytes(4, "big")))
        for _ in range(size // step):
            frames = receiver.feed(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert frames == [bytes(piece) * (size // step)]
    assert receiver.buffered == 0
    assert peak < 1.2 * size


def test_tiny_pieces_are_gathered() -> None:
    receiver = FrameReceiver(2**20)
    _feed(receiver, (2**20).to_bytes(4, "big"))
    count = 50_000
    tracemalloc.start()
    try:
        for _ in range(count):
            _feed(receiver, b"x")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert receiver.buffered == count
    assert kept < 2 * count  # one object for each byte would be 33 times as much
