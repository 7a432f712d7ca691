"""Encode transactions and znodes as bytes on disk, and decode them.

The format is our own. It uses jute's encodings: one byte for the transaction's type, then the
fields in order.
"""

from enum import IntEnum

from kafka_edu.zk.embedded.data_tree import NodeRow
from kafka_edu.zk.embedded.txn import (
    CheckTxn,
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DeleteTxn,
    ErrorTxn,
    MultiTxn,
    OpTxn,
    SetAclTxn,
    SetDataTxn,
    Txn,
    TxnHeader,
)
from kafka_edu.zk.jute.codec import (
    Decoder,
    JuteError,
    encode_buffer,
    encode_int,
    encode_long,
    encode_string,
    encode_vector,
)
from kafka_edu.zk.jute.serialization import decode_acl, encode_acl
from kafka_edu.zk.zk_client import ZkErrorCode


class TxnType(IntEnum):
    """The byte before a transaction in the log. It is the transaction's type."""

    CREATE = 1
    DELETE = 2
    SET_DATA = 3
    SET_ACL = 4
    CHECK = 5
    MULTI = 6
    CREATE_SESSION = 7
    CLOSE_SESSION = 8
    ERROR = 9


def encode_txn(header: TxnHeader, txn: Txn) -> bytes:
    head = (
        encode_long(header.session_id)
        + encode_int(header.cxid)
        + encode_long(header.zxid)
        + encode_long(header.time_ms)
    )
    return head + _encode(txn)


def decode_txn(record: bytes) -> tuple[TxnHeader, Txn]:
    """Decode one record of the log. Raises JuteError if the bytes are not a valid record."""
    d = Decoder(record)
    return TxnHeader(d.read_long(), d.read_int(), d.read_long(), d.read_long()), _decode(d)


def _encode(txn: Txn) -> bytes:
    match txn:
        case CreateTxn(path, data, acl, owner, creates):
            return (
                bytes([TxnType.CREATE])
                + encode_string(path)
                + encode_buffer(data)
                + encode_acl(acl)
                + encode_long(owner)
                + encode_int(creates)
            )
        case DeleteTxn(path):
            return bytes([TxnType.DELETE]) + encode_string(path)
        case SetDataTxn(path, data, version):
            return (
                bytes([TxnType.SET_DATA])
                + encode_string(path)
                + encode_buffer(data)
                + encode_int(version)
            )
        case SetAclTxn(path, acl, version):
            return (
                bytes([TxnType.SET_ACL])
                + encode_string(path)
                + encode_acl(acl)
                + encode_int(version)
            )
        case CheckTxn(path):
            return bytes([TxnType.CHECK]) + encode_string(path)
        case MultiTxn(txns):
            return bytes([TxnType.MULTI]) + encode_vector(map(_encode, txns))
        case CreateSessionTxn(timeout_ms):
            return bytes([TxnType.CREATE_SESSION]) + encode_int(timeout_ms)
        case CloseSessionTxn():
            return bytes([TxnType.CLOSE_SESSION])
        case ErrorTxn(code):
            return bytes([TxnType.ERROR]) + encode_int(code)


def _decode(d: Decoder) -> Txn:
    match d.read_byte():
        case TxnType.MULTI:
            return MultiTxn(d.read_vector(lambda: _decode_op(d.read_byte(), d)))
        case TxnType.CREATE_SESSION:
            return CreateSessionTxn(d.read_int())
        case TxnType.CLOSE_SESSION:
            return CloseSessionTxn()
        case TxnType.ERROR:
            return ErrorTxn(ZkErrorCode(d.read_int()))
        case type_:
            return _decode_op(type_, d)


def _decode_op(type_: int, d: Decoder) -> OpTxn:
    match type_:
        case TxnType.CREATE:
            return CreateTxn(
                d.read_string(), d.read_buffer(), decode_acl(d), d.read_long(), d.read_int()
            )
        case TxnType.DELETE:
            return DeleteTxn(d.read_string())
        case TxnType.SET_DATA:
            return SetDataTxn(d.read_string(), d.read_buffer(), d.read_int())
        case TxnType.SET_ACL:
            return SetAclTxn(d.read_string(), decode_acl(d), d.read_int())
        case TxnType.CHECK:
            return CheckTxn(d.read_string())
        case _:
            raise JuteError(f"a transaction of type {type_}")


def encode_row(row: NodeRow) -> bytes:
    numbers = (row.czxid, row.mzxid, row.pzxid, row.ctime, row.mtime, row.ephemeral_owner)
    counts = (row.version, row.creates, row.aversion)
    head = encode_string(row.path) + encode_buffer(row.data) + encode_acl(row.acl)
    return head + b"".join(map(encode_long, numbers)) + b"".join(map(encode_int, counts))


def decode_row(d: Decoder) -> NodeRow:
    path, data, acl = d.read_string(), d.read_buffer(), decode_acl(d)
    czxid, mzxid, pzxid, ctime, mtime, owner = (d.read_long() for _ in range(6))
    version, creates, aversion = (d.read_int() for _ in range(3))
    return NodeRow(
        path, data, acl, czxid, mzxid, pzxid, ctime, mtime, version, creates, aversion, owner
    )
