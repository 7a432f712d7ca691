"""GrowingBytes are the same as a bytearray, whatever is written, read and cut off."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_edu.sim.growing_bytes import PIECE, GrowingBytes

PLACES = st.one_of(
    st.integers(0, 3 * PIECE), st.sampled_from([0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE])
)
EDGES = (PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 5)
SIZES = st.one_of(st.integers(0, 300), st.sampled_from(EDGES))


@given(st.lists(st.tuples(st.sampled_from(["write", "append", "truncate", "read"]), PLACES, SIZES)))
def test_they_hold_what_was_written(steps: list[tuple[str, int, int]]) -> None:
    ours, right = GrowingBytes(b"begin"), bytearray(b"begin")
    for number, (what, place, size) in enumerate(steps, 1):
        data = bytes([number % 255 + 1]) * size
        match what:
            case "write":
                if place > len(right) and data:
                    right.extend(bytes(place - len(right)))
                if data or place <= len(right):
                    ours.write(data, place)
                    right[place : place + size] = data
            case "append":
                ours.write(data, len(ours))
                right += data
            case "truncate":
                ours.truncate(place)
                del right[place:]
            case _:
                assert ours.read(place, place + size) == right[place : place + size]
        assert len(ours) == len(right)
    assert ours.read(0, len(right)) == right
    assert ours.read(len(right), len(right) + 1) == b""


def test_a_full_piece_never_moves() -> None:
    ours = GrowingBytes(bytes(PIECE))
    (full,) = ours._pieces
    for _ in range(100):
        ours.write(b"x" * 1_000, len(ours))
    assert ours._pieces[0] is full
    assert [len(piece) for piece in ours._pieces] == [PIECE, PIECE, 100_000 - PIECE]
