"""The rules for paths in ZooKeeper (ZooKeeper: PathUtils.validatePath).

Java's client checks a path before it sends a request. The embedded server checks the path before it
writes.
"""

import re
from typing import Final

from kafka_edu.zk.zk_client import ZkError, ZkErrorCode

#: Matches what a path must not have: empty names, the names `.` and `..`, control characters,
#: surrogates, private-use and special characters.
_BAD_PATH: Final = re.compile("//|/\\.{1,2}(?=/|$)|[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]")


def is_valid_path(path: str) -> bool:
    """Return whether the path is absolute and has no empty name, no `.` or `..`, no trailing slash
    and no forbidden character.
    """
    return path == "/" or (
        path.startswith("/") and not path.endswith("/") and _BAD_PATH.search(path) is None
    )


def validate_path(path: str) -> None:
    """Raise ZkError(BAD_ARGUMENTS) if the path breaks these rules."""
    if not is_valid_path(path):
        raise ZkError(ZkErrorCode.BAD_ARGUMENTS, path)
