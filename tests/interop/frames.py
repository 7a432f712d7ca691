"""Frames as Kafka and ZooKeeper send them, four bytes of size and then the body, read from a plain
socket.
"""

import socket


def read_exactly(connection: socket.socket, count: int) -> bytes:
    """Raises EOFError when the other side closes before."""
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def read_frame(connection: socket.socket) -> bytes:
    """The body of the next frame. Raises EOFError."""
    return read_exactly(connection, int.from_bytes(read_exactly(connection, 4), "big"))
