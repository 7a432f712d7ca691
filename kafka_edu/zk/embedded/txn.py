"""Transactions: the results of write requests, as the log stores them (ZooKeeper's txn.jute).

A request has a condition: "delete /a if its version is 3". A transaction is the result of the
check: "/a is deleted". Applying a transaction checks nothing and cannot fail. Therefore the log can
be replayed. A failed request is logged as an ErrorTxn, because it has used a zxid.
"""

from typing import NamedTuple

from kafka_edu.zk.jute.proto import AclList
from kafka_edu.zk.zk_client import ZkErrorCode


class TxnHeader(NamedTuple):
    """The origin and number of a change.

    `session_id` and `cxid` name the session and its request, `zxid` is the change's number, and
    `time_ms` the wall-clock time in ms.
    """

    session_id: int
    cxid: int
    zxid: int
    time_ms: int


class CreateTxn(NamedTuple):
    """A znode is created.

    `parent_creates` is the parent's count of created children after this creation. It is an
    absolute number, so replaying the transaction twice changes nothing.
    """

    path: str
    data: bytes | None
    acl: AclList
    ephemeral_owner: int
    parent_creates: int


class DeleteTxn(NamedTuple):
    path: str


class SetDataTxn(NamedTuple):
    """The data of a znode is replaced. `version` is the znode's version after the change."""

    path: str
    data: bytes | None
    version: int


class SetAclTxn(NamedTuple):
    """The access list of a znode is replaced. `version` is the list's version (aversion) after the
    change.
    """

    path: str
    acl: AclList
    version: int


class CheckTxn(NamedTuple):
    """A check in a multi was successful. Nothing changes."""

    path: str


OpTxn = CreateTxn | DeleteTxn | SetDataTxn | SetAclTxn | CheckTxn


class MultiTxn(NamedTuple):
    txns: tuple[OpTxn, ...]


class CreateSessionTxn(NamedTuple):
    timeout_ms: int


class CloseSessionTxn(NamedTuple):
    """The session that the header names ends, and its ephemeral znodes are deleted."""


class ErrorTxn(NamedTuple):
    code: ZkErrorCode


Txn = OpTxn | MultiTxn | CreateSessionTxn | CloseSessionTxn | ErrorTxn
