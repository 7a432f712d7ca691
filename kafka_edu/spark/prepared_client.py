"""The program that Spark starts as Python: `prepared_client.py SOCKET -m MODULE ARGUMENT …`.

It sends its arguments, its environment and its standard streams to the prepared process that
listens on SOCKET (`prepared_python`). That process forks a child, and this program ends when the
child has ended. For other arguments, or if no process listens, this program becomes a plain Python.

The program runs without site-packages, and imports only what it needs, because Spark waits for it.
"""

import json
import os
import socket
import struct
import sys
from collections.abc import Sequence

_HEAD = struct.Struct(">I")


def hand_over(address: str, arguments: Sequence[str]) -> int:
    """Let the prepared process run `python -m` with the arguments, and return its exit code. Raises
    OSError if no process takes them.
    """
    wanted = {"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd()}
    data = json.dumps(wanted).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [_HEAD.pack(len(data))], [0, 1, 2])
        connection.sendall(data)
        try:
            code = connection.recv(1)
        except ConnectionError:
            code = b""
    return code[0] if code else 1  # without a code, the child was killed


def receive_head(connection: socket.socket) -> tuple[int, list[int]]:
    """Return the size of the data that follow, and the standard streams that `hand_over` sends.

    Raises EOFError if the other end has gone.
    """
    head, streams, _, _ = socket.recv_fds(connection, _HEAD.size, 3)
    if len(head) < _HEAD.size:
        raise EOFError("the program that requested a process has ended")
    return _HEAD.unpack(head)[0], streams


def main(address: str, *arguments: str) -> None:
    """Hand over to the prepared process, if it can do the work. If not, become a plain Python."""
    if arguments[:1] == ("-m",):
        try:
            code = hand_over(address, arguments[1:])
        except OSError:
            code = None  # there is no prepared process
        if code is not None:
            sys.exit(code)
    os.execv(sys.executable, [sys.executable, *arguments])


if __name__ == "__main__":
    main(*sys.argv[1:])
