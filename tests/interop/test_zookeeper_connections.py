"""Connections: how they begin, frames that arrive in pieces, what closes a connection, and the
four-letter words. The embedded ZooKeeper and Apache's behave the same.
"""

import re
import socket
from collections.abc import Callable
from random import Random

import pytest

from kafka_edu.zk.apache import four_letter_word
from kafka_edu.zk.jute.codec import Decoder, encode_buffer, encode_int, encode_long
from kafka_edu.zk.jute.op_code import OpCode
from kafka_edu.zk.zk_client import ZkErrorCode
from tests.interop.raw_zookeeper import SESSION_MS, TICK_MS, Raw, Server, create, read
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.tools


def test_sessions_are_negotiated(server: Server) -> None:
    for asked, given in ((1, 2 * TICK_MS), (3000, 3000), (1_000_000, 20 * TICK_MS)):
        client = Raw(server.port)
        client.connect(timeout_ms=asked)
        assert client.timeout_ms == given
        assert len(client.passwd) == 16
        client.close()


def test_only_clients_that_know_the_read_only_flag_get_it_in_the_answer(server: Server) -> None:
    for flag, length in ((None, 36), (False, 37), (True, 37)):
        client = Raw(server.port)
        answer = client.connect(read_only=flag)
        assert len(answer) == length
        assert answer[36:] == (b"" if flag is None else b"\0")
        client.close()


@pytest.mark.parametrize("wrong", ["password", "session"])
def test_a_wrong_password_or_session_gets_none(
    server: Server, zk: Raw, root: str, wrong: str
) -> None:
    client = Raw(server.port)
    client.connect(
        zk.session_id + (12345 if wrong == "session" else 0),
        zk.passwd if wrong == "session" else b"x" * 16,
    )
    assert (client.timeout_ms, client.session_id, client.passwd) == (0, 0, bytes(16))
    assert client.closed_by_server()
    if (
        wrong == "session"
    ):  # on a wrong password, Apache's server also closes the connection that has the right one
        assert zk.children(root) == []


def test_a_client_from_the_future_is_sent_away(server: Server) -> None:
    client = Raw(server.port)
    with pytest.raises((EOFError, ConnectionResetError)):
        client.connect(seen=1 << 50)


def test_answers_come_in_the_order_of_the_requests(zk: Raw, root: str) -> None:
    xids = []
    for number in range(200):
        xids.append(zk.send(OpCode.CREATE, create(f"{root}/{number}")))
        xids.append(zk.send(OpCode.EXISTS, read(f"{root}/{number}")))
    assert all(zk.receive(xid)[0] is ZkErrorCode.OK for xid in xids)


def test_a_mebibyte_and_no_more(connect: Callable[..., Raw], zk: Raw, root: str) -> None:
    largest = 0xFFFFF - (8 + 4 + len(root) + 4 + 4)
    data = Random(7).randbytes(largest)
    zk.set(root, data)
    assert zk.get(root)[0] == data
    other = connect()
    other.socket.sendall(encode_int(0xFFFFF + 1))
    assert other.closed_by_server()
    assert zk.get(root)[0] == data


@pytest.mark.parametrize(
    "garbage",
    [
        encode_int(-1),
        encode_int(-(2**31)),
        encode_int(2**31 - 1),
        encode_int(3) + b"abc",
        encode_int(0),
        b"\xff" * 64,
    ],
    ids=["-1", "smallest", "largest", "short", "empty", "ff"],
)
@pytest.mark.parametrize("connected", [True, False])
def test_garbage_closes_that_connection_only(
    server: Server, zk: Raw, root: str, garbage: bytes, connected: bool
) -> None:
    client = Raw(server.port)
    if connected:
        client.connect()
    client.socket.sendall(garbage)
    assert client.closed_by_server()
    assert zk.children(root) == []


def test_an_unknown_operation_is_answered_and_closed(zk: Raw) -> None:
    zk.send(4711)
    d = Decoder(zk.read())
    assert d.read_int() == 2
    d.read_long()
    assert ZkErrorCode(d.read_int()) is ZkErrorCode.UNIMPLEMENTED
    assert zk.closed_by_server()


def test_a_frame_in_pieces_and_frames_together(server: Server, root: str) -> None:
    """If a session already exists, the embedded server answers a ping at once, even before earlier
    requests that wait for the disk.
    """
    client = Raw(server.port)
    body = (
        encode_int(0)
        + encode_long(0)
        + encode_int(SESSION_MS)
        + encode_long(0)
        + encode_buffer(bytes(16))
        + b"\0"
    )
    request = encode_int(1) + encode_int(OpCode.CREATE) + create(root)
    ping = encode_int(-2) + encode_int(OpCode.PING)
    everything = b"".join(encode_int(len(frame)) + frame for frame in (body, request, ping))
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for start in range(0, len(everything), 7):
        client.socket.sendall(everything[start : start + 7])
    assert len(client.read()) == 37
    answers: dict[int, Decoder] = {}
    for _ in range(2):
        d = Decoder(client.read())
        xid, _zxid, code = d.read_int(), d.read_long(), ZkErrorCode(d.read_int())
        assert code is ZkErrorCode.OK
        answers[xid] = d
    assert answers.keys() == {1, -2}
    assert answers[1].read_string() == root


LABELS = {
    "srvr": [
        "Zookeeper version",
        "Latency min/avg/max",
        "Received",
        "Sent",
        "Connections",
        "Outstanding",
        "Zxid",
        "Mode",
        "Node count",
    ],
    "stat": [
        "Zookeeper version",
        "Clients",
        "Latency min/avg/max",
        "Received",
        "Sent",
        "Connections",
        "Outstanding",
        "Zxid",
        "Mode",
        "Node count",
    ],
    "dump": ["SessionTracker dump", "ephemeral nodes dump", "Sessions with Ephemerals"],
    "wchs": ["connections watching", "Total watches"],
    "conf": [
        "clientPort=",
        "secureClientPort=-1",
        "dataDir=",
        "dataDirSize=",
        "dataLogDir=",
        "dataLogSize=",
        "tickTime=",
        "maxClientCnxns=0",
        "minSessionTimeout=",
        "maxSessionTimeout=",
        "clientPortListenBacklog=-1",
        "serverId=0",
    ],
    "envi": ["zookeeper.version", "host.name", "os.name", "user.dir"],
    "mntr": [
        "zk_version",
        "zk_server_state",
        "zk_avg_latency",
        "zk_max_latency",
        "zk_min_latency",
        "zk_packets_received",
        "zk_packets_sent",
        "zk_num_alive_connections",
        "zk_outstanding_requests",
        "zk_znode_count",
        "zk_watch_count",
        "zk_ephemerals_count",
        "zk_approximate_data_size",
    ],
}


@pytest.mark.parametrize("word", LABELS)
def test_four_letter_words_say_what_scripts_look_for(server: Server, zk: Raw, word: str) -> None:
    said = four_letter_word("127.0.0.1", server.port, word, PATIENCE_S)
    assert [label for label in LABELS[word] if label not in said] == []
    if word == "conf":  # then these are all lines, in this order
        assert [line.partition("=")[0] for line in said.splitlines()] == [
            label.partition("=")[0] for label in LABELS[word]
        ]


def test_four_letter_words_report_the_true_state(server: Server, zk: Raw, root: str) -> None:
    def ask(word: str) -> str:
        return four_letter_word("127.0.0.1", server.port, word, PATIENCE_S)

    def number(pattern: str, text: str) -> int:
        found = re.search(pattern, text)
        assert found is not None
        return int(found.group(1), 0)

    assert (ask("ruok"), ask("isro")) == ("imok", "rw")
    before = number(r"Node count: (\d+)", ask("srvr"))
    zk.create(f"{root}/e", flags=1)
    zk.get(f"{root}/e", watch=True)
    zk.children(root, watch=True)
    said = ask("srvr")
    assert number(r"Node count: (\d+)", said) == before + 1
    assert number(r"Zxid: (\S+)", said) == zk.zxid
    assert "Mode: standalone" in said
    assert f"{root}/e" in ask("dump")
    assert f"0x{zk.session_id:x}" in ask("dump")
    assert f"sid=0x{zk.session_id:x}" in ask("cons")
    assert number(r"Total watches:(\d+)", ask("wchs")) >= 1
    assert f"clientPort={server.port}" in ask("conf")
    assert number(r"zk_ephemerals_count\s+(\d+)", ask("mntr")) >= 1
    assert number(r"dataDirSize=(\d+)", ask("conf")) > 0
    sizes = re.fullmatch(r"datadir_size: (\d+)\nlogdir_size: (\d+)\n", ask("dirs"))
    assert sizes is not None
    assert int(sizes[1]) > 0 < int(sizes[2])
    received = rf"recved=(\d+),.*sid=0x{zk.session_id:x}"
    assert number(received, ask("cons")) >= 4
    assert ask("crst") == "Connection stats reset.\n"
    assert number(received, ask("cons")) <= 1, "a ping may have come since"
