"""What a path in ZooKeeper may be (ZooKeeper: PathUtils.validatePath). Java's client checks it
before it asks, the server before it writes.
"""

import re
from typing import Final

from kafka_edu.zk.zk_client import ZkError, ZkErrorCode

#: Empty names, `.` and `..`, control characters, surrogates and private use, specials.
_BAD_PATH: Final = re.compile("//|/\\.{1,2}(?=/|$)|[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]")


def is_valid_path(path: str) -> bool:
    """Whether the path is absolute, without an empty or dotted name, a trailing slash or a control
    character.
    """
    return path == "/" or (
        path.startswith("/") and not path.endswith("/") and _BAD_PATH.search(path) is None
    )


def validate_path(path: str) -> None:
    """Raises ZkError(BAD_ARGUMENTS) for what can be no path."""
    if not is_valid_path(path):
        raise ZkError(ZkErrorCode.BAD_ARGUMENTS, path)
