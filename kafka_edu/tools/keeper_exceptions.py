"""Return the Java exception for a ZooKeeper error, and its message (KeeperException.java).

Neither can be computed from the name of the error code: code -111 is a NotEmptyException with the
text "Directory not empty". `tests/golden/errors` holds the list that ZooKeeper's jar printed.
"""

from collections.abc import Mapping
from typing import Final

from kafka_edu.zk.zk_client import ZkError, ZkErrorCode

_CLASS: Final = "org.apache.zookeeper.KeeperException"

#: Each error code, and its class (nested in KeeperException) and text. OK has no exception.
_EXCEPTIONS: Final[Mapping[ZkErrorCode, tuple[str, str]]] = {
    ZkErrorCode.SYSTEM_ERROR: ("SystemErrorException", "SystemError"),
    ZkErrorCode.RUNTIME_INCONSISTENCY: ("RuntimeInconsistencyException", "RuntimeInconsistency"),
    ZkErrorCode.DATA_INCONSISTENCY: ("DataInconsistencyException", "DataInconsistency"),
    ZkErrorCode.CONNECTION_LOSS: ("ConnectionLossException", "ConnectionLoss"),
    ZkErrorCode.MARSHALLING_ERROR: ("MarshallingErrorException", "MarshallingError"),
    ZkErrorCode.UNIMPLEMENTED: ("UnimplementedException", "Unimplemented"),
    ZkErrorCode.OPERATION_TIMEOUT: ("OperationTimeoutException", "OperationTimeout"),
    ZkErrorCode.BAD_ARGUMENTS: ("BadArgumentsException", "BadArguments"),
    ZkErrorCode.NEW_CONFIG_NO_QUORUM: ("NewConfigNoQuorum", "NewConfigNoQuorum"),
    ZkErrorCode.RECONFIG_IN_PROGRESS: ("ReconfigInProgress", "ReconfigInProgress"),
    ZkErrorCode.API_ERROR: ("APIErrorException", "APIError"),
    ZkErrorCode.NO_NODE: ("NoNodeException", "NoNode"),
    ZkErrorCode.NO_AUTH: ("NoAuthException", "NoAuth"),
    ZkErrorCode.BAD_VERSION: ("BadVersionException", "BadVersion"),
    ZkErrorCode.NO_CHILDREN_FOR_EPHEMERALS: (
        "NoChildrenForEphemeralsException",
        "NoChildrenForEphemerals",
    ),
    ZkErrorCode.NODE_EXISTS: ("NodeExistsException", "NodeExists"),
    ZkErrorCode.NOT_EMPTY: ("NotEmptyException", "Directory not empty"),
    ZkErrorCode.SESSION_EXPIRED: ("SessionExpiredException", "Session expired"),
    ZkErrorCode.INVALID_CALLBACK: ("InvalidCallbackException", "Invalid callback"),
    ZkErrorCode.INVALID_ACL: ("InvalidACLException", "InvalidACL"),
    ZkErrorCode.AUTH_FAILED: ("AuthFailedException", "AuthFailed"),
    ZkErrorCode.SESSION_MOVED: ("SessionMovedException", "Session moved"),
    ZkErrorCode.NOT_READONLY: ("NotReadOnlyException", "Not a read-only call"),
    ZkErrorCode.EPHEMERAL_ON_LOCAL_SESSION: (
        "EphemeralOnLocalSessionException",
        "Ephemeral node on local session",
    ),
    ZkErrorCode.NO_WATCHER: ("NoWatcherException", "No such watcher"),
}


def exception_class(error: ZkError) -> str:
    """Return the full class name, such as org.apache.zookeeper.KeeperException$NoNodeException."""
    return f"{_CLASS}${_EXCEPTIONS[error.code][0]}"


def message(error: ZkError) -> str:
    """Return the exception's text, such as "KeeperErrorCode = NoNode for /a"."""
    path = "" if error.path in ("", "null") else f" for {error.path}"
    return f"KeeperErrorCode = {_EXCEPTIONS[error.code][1]}{path}"
