"""Transactions: what a write came to, as the log keeps it (ZooKeeper's txn.jute).

A request says what is wanted ("delete /a if its version is 3"); a transaction says what happens
("/a is gone"). Applying one asks nothing and can fail on nothing, so the log can be replayed. A
request that failed leaves an ErrorTxn, for it used up a zxid.
"""

from typing import NamedTuple

from kafka_edu.zk.jute.proto import AclList
from kafka_edu.zk.zk_client import ZkErrorCode


class TxnHeader(NamedTuple):
    """Who (`session_id`, its request `cxid`), as which change (`zxid`), at what wall time
    (`time_ms`).
    """

    session_id: int
    cxid: int
    zxid: int
    time_ms: int


class CreateTxn(NamedTuple):
    """`parent_creates` is the parent's count of creates after this one: replaying a create twice
    changes nothing.
    """

    path: str
    data: bytes | None
    acl: AclList
    ephemeral_owner: int
    parent_creates: int


class DeleteTxn(NamedTuple):
    path: str


class SetDataTxn(NamedTuple):
    """`version` is the new one."""

    path: str
    data: bytes | None
    version: int


class SetAclTxn(NamedTuple):
    """`version` is the new aversion."""

    path: str
    acl: AclList
    version: int


class CheckTxn(NamedTuple):
    """Nothing happens: the version was the one asked for."""

    path: str


OpTxn = CreateTxn | DeleteTxn | SetDataTxn | SetAclTxn | CheckTxn


class MultiTxn(NamedTuple):
    txns: tuple[OpTxn, ...]


class CreateSessionTxn(NamedTuple):
    timeout_ms: int


class CloseSessionTxn(NamedTuple):
    """The session of the header ends; its ephemerals go."""


class ErrorTxn(NamedTuple):
    code: ZkErrorCode


Txn = OpTxn | MultiTxn | CreateSessionTxn | CloseSessionTxn | ErrorTxn
