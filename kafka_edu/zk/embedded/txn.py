"""Transactions: the results of writes, as the log stores them (ZooKeeper's txn.jute).

A request states a wish with conditions: "delete /a if its version is 3". A transaction states the
result: "/a is deleted". Applying a transaction checks nothing and cannot fail. Therefore the log
can be replayed. A request that failed leaves an ErrorTxn, because it has used a zxid.
"""

from typing import NamedTuple

from kafka_edu.zk.jute.proto import AclList
from kafka_edu.zk.zk_client import ZkErrorCode


class TxnHeader(NamedTuple):
    """The session and its request (`session_id`, `cxid`), the number of the change (`zxid`), and
    the wall time (`time_ms`).
    """

    session_id: int
    cxid: int
    zxid: int
    time_ms: int


class CreateTxn(NamedTuple):
    """A znode is created.

    `parent_creates` is the parent's count of creates, this one included. So a create that is
    replayed twice changes nothing.
    """

    path: str
    data: bytes | None
    acl: AclList
    ephemeral_owner: int
    parent_creates: int


class DeleteTxn(NamedTuple):
    path: str


class SetDataTxn(NamedTuple):
    """A znode's data change. `version` is the new version."""

    path: str
    data: bytes | None
    version: int


class SetAclTxn(NamedTuple):
    """A znode's access list changes. `version` is the new aversion."""

    path: str
    acl: AclList
    version: int


class CheckTxn(NamedTuple):
    """A check was successful. It changes nothing."""

    path: str


OpTxn = CreateTxn | DeleteTxn | SetDataTxn | SetAclTxn | CheckTxn


class MultiTxn(NamedTuple):
    txns: tuple[OpTxn, ...]


class CreateSessionTxn(NamedTuple):
    timeout_ms: int


class CloseSessionTxn(NamedTuple):
    """The header's session ends, and its ephemeral znodes are deleted."""


class ErrorTxn(NamedTuple):
    code: ZkErrorCode


Txn = OpTxn | MultiTxn | CreateSessionTxn | CloseSessionTxn | ErrorTxn
