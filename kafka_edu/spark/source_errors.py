"""The mistakes and mishaps that a user of the data source can do something about.

Spark runs the source in processes of its own. Their errors arrive as the text of a traceback inside
of an exception of Spark. `user_error` finds our one line in it.
"""

import re
from typing import Final


class SourceError(Exception):
    """An error whose text is one line: what happened, why, and what to do."""


class SourceOptionError(SourceError, ValueError):
    """An option is missing, wrong or unknown."""


class ClusterError(SourceError):
    """The cluster does not answer, or refuses."""


class DataLossError(SourceError):
    """Records that the query wants are gone, and failOnDataLoss is true."""


class CorruptBatchError(SourceError, ValueError):
    """A size, a checksum, a codec or a length inside of the records is wrong."""


_OURS: Final = re.compile(rf"^{re.escape(__name__)}\.\w+: (.+)$", re.MULTILINE)


def user_error(error: BaseException) -> str | None:
    """Return the line for the user that a failed query carries, or None if it has none of ours."""
    if isinstance(error, SourceError):
        return str(error)
    found = _OURS.findall(str(error))
    return found[-1] if found else None
