"""Read frames of Kafka and ZooKeeper from a plain socket. A frame is four bytes of size and then
the body.
"""

import socket


def read_exactly(connection: socket.socket, count: int) -> bytes:
    """Return exactly `count` bytes. Raises EOFError when the other side closes the connection
    first.
    """
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def read_frame(connection: socket.socket) -> bytes:
    """Return the body of the next frame. Raises EOFError."""
    return read_exactly(connection, int.from_bytes(read_exactly(connection, 4), "big"))
