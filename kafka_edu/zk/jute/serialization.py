"""Encode and decode requests and responses, as they travel between ZooKeeper's clients and servers
(zookeeper.jute; ClientCnxn.java, ServerCnxn.java).

A frame is an int with a length, followed by that many bytes. The first frame of a connection is a
ConnectRequest. Each later request is a header (int xid, int type) and a record of this type. A
reply is a header (int xid, long zxid, int error), and a record if the error is 0.

Replies come in the order of the requests. Four xids are reserved: -1 for a watch that fired, -2 for
a ping, -4 for AddAuth and -8 for SetWatches.
"""

import struct
from typing import Final

from kafka_edu.zk.jute.codec import (
    Decoder,
    JuteError,
    encode_bool,
    encode_buffer,
    encode_int,
    encode_long,
    encode_stat,
    encode_string,
    encode_vector,
)
from kafka_edu.zk.jute.op_code import NOTIFICATION_XID, OpCode
from kafka_edu.zk.jute.proto import (
    Acl,
    AclList,
    AclResponse,
    AuthPacket,
    CheckResult,
    CheckVersionRequest,
    ChildrenResponse,
    CloseSessionRequest,
    ConnectRequest,
    ConnectResponse,
    CreateRequest,
    CreateResponse,
    DataResponse,
    DeleteRequest,
    DeleteResult,
    ErrorResult,
    ExistsRequest,
    GetAclRequest,
    GetAllChildrenNumberRequest,
    GetChildrenRequest,
    GetDataRequest,
    GetEphemeralsRequest,
    MultiOp,
    MultiReadRequest,
    MultiRequest,
    MultiResponse,
    MultiResult,
    NumberResponse,
    PathResponse,
    PathsResponse,
    PingRequest,
    ReadOp,
    RemoveWatchesRequest,
    Request,
    Response,
    SetAclRequest,
    SetDataRequest,
    SetWatchesRequest,
    StatResponse,
    SyncRequest,
    UnservedRequest,
)
from kafka_edu.zk.zk_client import WatchedEvent, ZkErrorCode

SYNC_CONNECTED: Final = 3
"""The state that every watch event from a server has (Watcher.Event.KeeperState.SyncConnected)."""
_REPLY_HEADER: Final = struct.Struct(">iiqi")
_MULTI_HEADER: Final = struct.Struct(">i?i")
_MULTI_END: Final = _MULTI_HEADER.pack(-1, True, -1)

#: Operations that ZooKeeper knows, but this server does not serve. They get an error as their
#: answer, and the connection stays open.
_NOT_IMPLEMENTED: Final = frozenset(
    {
        OpCode.CREATE_CONTAINER,
        OpCode.DELETE_CONTAINER,
        OpCode.CREATE_TTL,
        OpCode.RECONFIG,
        OpCode.SET_WATCHES2,
        OpCode.ADD_WATCH,
        OpCode.SASL,
        OpCode.WHO_AM_I,
    }
)


def decode_connect(frame: bytes) -> ConnectRequest:
    """Decode the first frame of a connection. Raises JuteError if the frame is not a
    ConnectRequest.
    """
    d = Decoder(frame)
    version, seen, timeout_ms, session_id, passwd = (
        d.read_int(),
        d.read_long(),
        d.read_int(),
        d.read_long(),
        d.read_buffer(),
    )
    return ConnectRequest(
        version, seen, timeout_ms, session_id, passwd or b"", d.read_bool() if d.remaining else None
    )


def decode_request(frame: bytes) -> tuple[int, Request]:
    """Decode a frame, and return the request's xid and the request.

    If the body cannot be decoded, the request is an UnservedRequest. Raises JuteError if the header
    is incomplete.
    """
    d = Decoder(frame)
    xid, op = d.read_int(), d.read_int()
    try:
        return xid, _decode_body(op, d)
    except JuteError:
        return xid, UnservedRequest(op, ZkErrorCode.MARSHALLING_ERROR)


def _decode_body(op: int, d: Decoder) -> Request:
    match op:
        case OpCode.GET_DATA:
            return GetDataRequest(d.read_string(), d.read_bool())
        case OpCode.EXISTS:
            return ExistsRequest(d.read_string(), d.read_bool())
        case OpCode.GET_CHILDREN | OpCode.GET_CHILDREN2:
            return GetChildrenRequest(d.read_string(), d.read_bool(), op == OpCode.GET_CHILDREN2)
        case OpCode.CREATE | OpCode.CREATE2 | OpCode.DELETE | OpCode.SET_DATA | OpCode.CHECK:
            return _decode_write(op, d)
        case OpCode.MULTI:
            return MultiRequest(_decode_multi(d))
        case OpCode.PING:
            return PingRequest()
        case OpCode.GET_ACL:
            return GetAclRequest(d.read_string())
        case OpCode.SET_ACL:
            return SetAclRequest(d.read_string(), decode_acl(d), d.read_int())
        case OpCode.SYNC:
            return SyncRequest(d.read_string())
        case OpCode.SET_WATCHES:
            return SetWatchesRequest(
                d.read_long(),
                d.read_vector(d.read_string),
                d.read_vector(d.read_string),
                d.read_vector(d.read_string),
            )
        case OpCode.REMOVE_WATCHES | OpCode.CHECK_WATCHES:
            return RemoveWatchesRequest(d.read_string(), d.read_int(), op == OpCode.CHECK_WATCHES)
        case OpCode.AUTH:
            d.read_int()  # a type, which the server ignores
            return AuthPacket(d.read_string(), d.read_buffer() or b"")
        case OpCode.CLOSE_SESSION:
            return CloseSessionRequest()
        case OpCode.GET_EPHEMERALS:
            return GetEphemeralsRequest(d.read_string())
        case OpCode.GET_ALL_CHILDREN_NUMBER:
            return GetAllChildrenNumberRequest(d.read_string())
        case OpCode.MULTI_READ:
            return MultiReadRequest(_decode_multi_read(d))
        case _:
            return UnservedRequest(
                op, ZkErrorCode.UNIMPLEMENTED, hang_up=op not in _NOT_IMPLEMENTED
            )


def _decode_write(
    op: int, d: Decoder
) -> CreateRequest | DeleteRequest | SetDataRequest | CheckVersionRequest:
    match op:
        case OpCode.CREATE | OpCode.CREATE2:
            return CreateRequest(
                d.read_string(), d.read_buffer(), decode_acl(d), d.read_int(), op == OpCode.CREATE2
            )
        case OpCode.DELETE:
            return DeleteRequest(d.read_string(), d.read_int())
        case OpCode.SET_DATA:
            return SetDataRequest(d.read_string(), d.read_buffer(), d.read_int())
        case OpCode.CHECK:
            return CheckVersionRequest(d.read_string(), d.read_int())
        case _:
            raise JuteError(f"operation {op} in a multi")


def encode_acl(acl: AclList) -> bytes:
    return encode_vector(
        encode_int(entry.perms) + encode_string(entry.scheme) + encode_string(entry.id)
        for entry in acl
    )


def decode_acl(d: Decoder) -> AclList:
    return d.read_vector(lambda: Acl(d.read_int(), d.read_string(), d.read_string()))


def _decode_multi(d: Decoder) -> tuple[MultiOp, ...]:
    """Decode the ops of a multi (MultiOperationRecord.java).

    A header (int type, bool done, int err) is before each op. After the last op comes a header
    without an op.
    """
    ops: list[MultiOp] = []
    while True:
        op, done, _ = d.read_int(), d.read_bool(), d.read_int()
        if done:
            return tuple(ops)
        if op in (OpCode.CREATE_CONTAINER, OpCode.CREATE_TTL):
            CreateRequest(d.read_string(), d.read_buffer(), decode_acl(d), d.read_int())
            if op == OpCode.CREATE_TTL:
                d.read_long()
            ops.append(UnservedRequest(op, ZkErrorCode.UNIMPLEMENTED))
        else:
            # In a multi, ZooKeeper treats Create2 like Create: the answer has no Stat.
            ops.append(_decode_write(OpCode.CREATE if op == OpCode.CREATE2 else op, d))


def _decode_multi_read(d: Decoder) -> tuple[ReadOp, ...]:
    ops: list[ReadOp] = []
    while True:
        op, done, _ = d.read_int(), d.read_bool(), d.read_int()
        if done:
            return tuple(ops)
        match op:
            case OpCode.GET_DATA:
                ops.append(GetDataRequest(d.read_string(), d.read_bool()))
            case OpCode.GET_CHILDREN:
                ops.append(GetChildrenRequest(d.read_string(), d.read_bool()))
            case _:
                raise JuteError(f"operation {op} in a multi of reads")


def encode_connect_response(response: ConnectResponse) -> bytes:
    body = (
        encode_int(response.protocol_version)
        + encode_int(response.timeout_ms)
        + encode_long(response.session_id)
        + encode_buffer(response.passwd)
    )
    if response.read_only is not None:
        body += encode_bool(response.read_only)
    return encode_int(len(body)) + body


def encode_notification(event: WatchedEvent) -> bytes:
    body = encode_int(event.type) + encode_int(SYNC_CONNECTED) + encode_string(event.path)
    return _REPLY_HEADER.pack(len(body) + 16, NOTIFICATION_XID, -1, 0) + body


def encode_reply(xid: int, zxid: int, code: ZkErrorCode, response: Response | None) -> bytes:
    body = b"" if response is None else _encode_body(response)
    return _REPLY_HEADER.pack(len(body) + 16, xid, zxid, code) + body


def _encode_body(response: Response) -> bytes:
    match response:
        case DataResponse(data, stat):
            return encode_buffer(data) + encode_stat(stat)
        case StatResponse(stat):
            return encode_stat(stat)
        case CreateResponse(path, stat):
            return encode_string(path) + (encode_stat(stat) if stat else b"")
        case ChildrenResponse(children, stat):
            return encode_vector(map(encode_string, children)) + (
                encode_stat(stat) if stat else b""
            )
        case MultiResponse(results):
            return b"".join(map(_encode_multi_result, results)) + _MULTI_END
        case AclResponse(acl, stat):
            return encode_acl(acl) + encode_stat(stat)
        case PathResponse(path):
            return encode_string(path)
        case NumberResponse(number):
            return encode_int(number)
        case PathsResponse(paths):
            return encode_vector(map(encode_string, paths))


def _encode_multi_result(result: MultiResult) -> bytes:
    """Encode one result of a multi (MultiResponse.java). The type in the header says which record
    follows.
    """
    match result:
        case ErrorResult(code):
            return _MULTI_HEADER.pack(OpCode.ERROR, False, code) + encode_int(code)
        case DeleteResult():
            return _MULTI_HEADER.pack(OpCode.DELETE, False, 0)
        case CheckResult():
            return _MULTI_HEADER.pack(OpCode.CHECK, False, 0)
        case CreateResponse():
            return _MULTI_HEADER.pack(OpCode.CREATE, False, 0) + _encode_body(result)
        case StatResponse():
            return _MULTI_HEADER.pack(OpCode.SET_DATA, False, 0) + _encode_body(result)
        case DataResponse():
            return _MULTI_HEADER.pack(OpCode.GET_DATA, False, 0) + _encode_body(result)
        case ChildrenResponse():
            return _MULTI_HEADER.pack(OpCode.GET_CHILDREN, False, 0) + _encode_body(result)
