"""The wire format of the embedded ZooKeeper, compared with kazoo's own encoding of the same
requests.
"""

import pytest
from kazoo.protocol import serialization as kazoo  # type: ignore[import-untyped]  # kazoo has no types
from kazoo.security import OPEN_ACL_UNSAFE as KAZOO_OPEN  # type: ignore[import-untyped]

from kafka_edu.zk.jute.codec import (
    MAX_BUFFER,
    Decoder,
    JuteError,
    encode_buffer,
    encode_int,
    encode_long,
    encode_string,
    encode_vector,
)
from kafka_edu.zk.jute.op_code import OpCode
from kafka_edu.zk.jute.proto import (
    OPEN_ACL_UNSAFE,
    CheckVersionRequest,
    ConnectRequest,
    ConnectResponse,
    CreateRequest,
    CreateResponse,
    DataResponse,
    DeleteRequest,
    DeleteResult,
    ErrorResult,
    ExistsRequest,
    GetChildrenRequest,
    GetDataRequest,
    MultiRequest,
    MultiResponse,
    Request,
    SetDataRequest,
    UnservedRequest,
)
from kafka_edu.zk.jute.serialization import (
    decode_connect,
    decode_request,
    encode_connect_response,
    encode_notification,
    encode_reply,
)
from kafka_edu.zk.zk_client import Stat, WatchedEvent, WatchType, ZkErrorCode


def watcher(event: object) -> None: ...


REQUESTS = [
    (kazoo.Create("/a/ü", b"x", KAZOO_OPEN, 3), CreateRequest("/a/ü", b"x", OPEN_ACL_UNSAFE, 3)),
    (
        kazoo.Create2("/a", None, KAZOO_OPEN, 0),
        CreateRequest("/a", None, OPEN_ACL_UNSAFE, 0, with_stat=True),
    ),
    (kazoo.Delete("/a", -1), DeleteRequest("/a", -1)),
    (kazoo.SetData("/a", b"", 7), SetDataRequest("/a", b"", 7)),
    (kazoo.Exists("/a", watcher), ExistsRequest("/a", True)),
    (kazoo.GetData("/a", None), GetDataRequest("/a", False)),
    (kazoo.GetChildren("/a", watcher), GetChildrenRequest("/a", True)),
    (kazoo.GetChildren2("/a", None), GetChildrenRequest("/a", False, with_stat=True)),
    (
        kazoo.Transaction(
            [
                kazoo.Create("/a", b"", KAZOO_OPEN, 0),
                kazoo.CheckVersion("/b", 3),
                kazoo.Delete("/c", 1),
                kazoo.SetData("/d", b"z", 0),
            ]
        ),
        MultiRequest(
            (
                CreateRequest("/a", b"", OPEN_ACL_UNSAFE, 0),
                CheckVersionRequest("/b", 3),
                DeleteRequest("/c", 1),
                SetDataRequest("/d", b"z", 0),
            )
        ),
    ),
]


@pytest.mark.parametrize(("theirs", "ours"), REQUESTS)
def test_requests_as_kazoo_writes_them(theirs: kazoo.Create, ours: Request) -> None:
    assert decode_request(encode_int(5) + encode_int(theirs.type) + bytes(theirs.serialize())) == (
        5,
        ours,
    )


def test_every_cut_of_a_request_is_a_marshalling_error() -> None:
    for theirs, _ in REQUESTS:
        body = bytes(theirs.serialize())
        for end in range(len(body)):
            _, request = decode_request(encode_int(5) + encode_int(theirs.type) + body[:end])
            assert request == UnservedRequest(theirs.type, ZkErrorCode.MARSHALLING_ERROR)


def test_connect_as_kazoo_writes_and_reads_it() -> None:
    body = bytes(kazoo.Connect(0, 77, 6000, -5, b"p" * 16, True).serialize())
    assert decode_connect(body) == ConnectRequest(0, 77, 6000, -5, b"p" * 16, True)
    assert decode_connect(body[:-1]) == ConnectRequest(0, 77, 6000, -5, b"p" * 16, None)
    answer = encode_connect_response(ConnectResponse(0, 4000, -5, b"q" * 16, False))
    response, _ = kazoo.Connect.deserialize(answer[4:], 0)
    assert (response.time_out, response.session_id, response.passwd, response.read_only) == (
        4000,
        -5,
        b"q" * 16,
        False,
    )


def test_replies_as_kazoo_reads_them() -> None:
    stat = Stat(1, 2, 3, 4, 5, 6, 7, -8, 9, 10, 11)
    reply = encode_reply(3, 99, ZkErrorCode.OK, DataResponse(b"abc", stat))
    header, offset = kazoo.ReplyHeader.deserialize(reply[4:], 0)
    assert (header.xid, header.zxid, header.err) == (3, 99, 0)
    assert kazoo.GetData.deserialize(reply[4:], offset) == (b"abc", tuple(stat))
    results = MultiResponse(
        (CreateResponse("/a", None), DeleteResult(), ErrorResult(ZkErrorCode.BAD_VERSION))
    )
    reply = encode_reply(4, 99, ZkErrorCode.OK, results)
    created, deleted, failed = kazoo.Transaction.deserialize(reply[4:], 16)
    assert (created, deleted, failed.code) == ("/a", True, -103)
    notice = encode_notification(WatchedEvent(WatchType.CHILDREN_CHANGED, "/a"))
    watch, _ = kazoo.Watch.deserialize(notice[4:], 16)
    assert (watch.type, watch.state, watch.path) == (4, 3, "/a")


@pytest.mark.parametrize(
    "data", [b"", encode_int(5) + b"1234", encode_int(-2), encode_int(2**31 - 1) + b"x"]
)
def test_lengths_are_held_against_what_is_there(data: bytes) -> None:
    with pytest.raises(JuteError):
        Decoder(data).read_buffer()
    d = Decoder(data)
    with pytest.raises(JuteError):
        d.read_vector(d.read_int)


def test_values_and_nulls() -> None:
    d = Decoder(
        encode_long(-1)
        + encode_buffer(None)
        + encode_string("")
        + encode_vector([encode_int(1), encode_int(2)])
        + encode_int(-1)
    )
    assert (
        d.read_long(),
        d.read_buffer(),
        d.read_string(),
        d.read_vector(d.read_int),
        d.read_vector(d.read_int),
    ) == (-1, None, "", (1, 2), ())
    assert d.remaining == 0
    assert MAX_BUFFER == 1024 * 1024 - 1


def test_unknown_operations_hang_up_and_known_ones_do_not() -> None:
    assert decode_request(encode_int(1) + encode_int(4711))[1] == UnservedRequest(
        4711, ZkErrorCode.UNIMPLEMENTED, hang_up=True
    )
    assert decode_request(encode_int(1) + encode_int(OpCode.CREATE_TTL))[1] == UnservedRequest(
        OpCode.CREATE_TTL, ZkErrorCode.UNIMPLEMENTED
    )
    with pytest.raises(JuteError):
        decode_request(b"1234567")
