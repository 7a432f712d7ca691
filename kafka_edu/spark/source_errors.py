"""The errors of Spark jobs that a user can do something about.

Spark runs the source in other processes. Errors in these processes arrive as the text of a
traceback inside of a Spark exception. `user_error` finds our own line in this text. `user_error`
also has a line for some errors that Spark itself, the official connector or the JVM reports.
"""

import re
from collections.abc import Iterator
from typing import Final


class SourceError(Exception):
    """An error for the user. Its text is one line that says what happened, why, and what the user
    can do.
    """


class SourceOptionError(SourceError, ValueError):
    """Raised if an option is missing, wrong or unknown."""


class ClusterError(SourceError):
    """Raised if the cluster does not answer, or refuses a request."""


class DataLossError(SourceError):
    """Raised if records that the query wants no longer exist, and failOnDataLoss is true."""


class CheckpointError(SourceError):
    """Raised if a query's checkpoint belongs to another query."""


class CorruptBatchError(SourceError, ValueError):
    """Raised if a size, checksum, codec or length in a record batch is wrong."""


class DamagedRecordingError(SourceError, ValueError):
    """Raised if a file is not a recording of events, or is damaged or cut off."""


class SinkDataError(SourceError, ValueError):
    """Raised if the sink cannot write a row: a column, type, size or slot is wrong."""


_OURS: Final = re.compile(rf"^{re.escape(__name__)}\.\w+: (.+)$", re.MULTILINE)

_LOST: Final = (
    "Records that this query needs are gone: {found}. Set failOnDataLoss to false to"
    " read the remaining records, or begin a new query with a new checkpoint"
)
_ANOTHER_QUERY: Final = (
    "The checkpoint was written by another query, or by an earlier version of this one. Give each"
    " query a checkpointLocation of its own, and a changed query a new one"
)
#: Patterns for messages of Spark, the official connector and Java, each with our line for the user.
#: The first pattern that matches is used.
_THEIRS: Final = tuple(
    (re.compile(pattern), line)
    for pattern, line in {
        r"No space left on device|Disk quota exceeded": (
            "The disk of the checkpoint, or of Spark's temporary files, is full. Free some space,"
            " then start the query again: it continues where its last complete batch ended"
        ),
        r"No resolvable bootstrap urls": (
            "No host of kafka.bootstrap.servers has an address. Correct the names"
        ),
        r"Invalid url in bootstrap\.servers|Missing required configuration .?bootstrap\.servers"
        r"|Option 'kafka\.bootstrap\.servers' must be specified": (
            "kafka.bootstrap.servers is missing or wrong: it must be host:port, or several of them"
            " with commas between"
        ),
        r"Timed out waiting for a node assignment|Timeout of \d+ms expired before (?:the position"
        r"|successfully)|Failed to update metadata after": (
            "No broker of kafka.bootstrap.servers answers. Is the cluster up, and is the address"
            " right?"
        ),
        r"Python worker failed to connect back|Timed out while waiting for the Python worker": (
            "A Python process of Spark did not start in time: this machine is too busy, or has too"
            " little memory. Close other programs, then start the command again"
        ),
        r"ModuleNotFoundError: No module named 'kafka_edu'": (
            "A Python process of Spark has no kafka-edu. Through Spark Connect, a stream needs"
            " kafka-edu in the server's own Python: install it there, or start the server with"
            " kafka-edu in PYTHONPATH"
        ),
        r"UnknownTopicOrPartitionException": (
            "A topic of the query does not exist. Create it, or correct the option that names it"
        ),
        r"Some data may have been lost[\s\S]*?Reason:\s*(?P<found>[^\n]+?)\.?(?:\n|$)": _LOST,
        r"(?P<found>Offsets out of range[^\n]*|Cannot fetch record for offset[^\n]*)": _LOST,
        r"starting offset can't be latest for batch|ending offset can't be earliest for batch": (
            "A batch cannot begin at latest or end at earliest. Correct startingOffsets or"
            " endingOffsets"
        ),
        r"ending offset not valid in streaming queries": (
            "A streaming query has no end. Remove the options that say where to end, or use"
            " spark.read"
        ),
        r"(?P<found>No offset matched from request of topic-partition \S+ and timestamp \d+\.)": (
            "{found} Give an earlier time, or startingOffsetsByTimestampStrategy=latest to begin at"
            " the end"
        ),
        r"Partitions specified for Kafka (?:start|timestamp based)": (
            "An option with offsets or times by partition must name exactly the partitions that are"
            " read"
        ),
        r"(?P<found>The (?:resolved|specified) start [^\n]* is greater than [^\n]*?\.)(?=\s|$)": (
            "{found} Exchange the starting and ending options, or look whether the topic was"
            " deleted and created again"
        ),
        r"There are \[?\d+\]? sources in the checkpoint|STREAMING_STATEFUL_OPERATOR_NOT_MATCH"
        r"|STATE_STORE_\w*SCHEMA|STATE_STORE_SCHEMA_INCOMPATIBLE|Expected e\.g\."
        r"|OFFSET_LOG_\w+MISMATCH": _ANOTHER_QUERY,
        r"CONCURRENT_STREAM_LOG_UPDATE|Multiple streaming queries are concurrently using": (
            "Two queries use one checkpoint at the same time. Give each query a checkpointLocation"
            " of its own"
        ),
        r"Failed to find data source: kafka\b|DATA_SOURCE_NOT_FOUND[^\n]*: kafka\b": (
            "Spark's own Kafka connector is not loaded. Start the command with --connector"
            " official, or the session by start_session(connector=Connector.OFFICIAL)"
        ),
        r"ParentNotDirectoryException|FileAlreadyExistsException|Mkdirs failed to create"
        r"|AccessDeniedException|\(Permission denied\)": (
            "Spark cannot write its checkpoint: checkpointLocation is not a folder, or not one that"
            " you may write to. Give another one"
        ),
    }.items()
)
_JVM_GONE: Final = (
    "Spark's JVM has ended: it was killed, or it had too little memory. Start the command again: a"
    " query with a checkpoint continues where its last complete batch ended"
)


def user_error(error: BaseException) -> str | None:
    """Return the line for the user about a failed query. Return None if the failure is a bug of
    ours.

    `error` may be an exception of Python, PySpark or py4j, from a batch or from a streaming query.
    The causes of the exception are searched too.
    """
    chain = list(_chain(error))
    for one in chain:
        if isinstance(one, SourceError):
            return str(one)
    texts = [_text(one) for one in chain]
    for text in texts:
        if found := _OURS.findall(text):
            return str(found[-1])
    if any(lost_the_jvm(one) for one in chain):
        return _JVM_GONE
    for pattern, line in _THEIRS:
        for text in texts:
            if match := pattern.search(text):
                return line.format_map({"found": "", **match.groupdict()})
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception, then its cause, and so on."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def is_ctrl_c(error: BaseException) -> bool:
    """Return whether an exception is Ctrl-C, or was raised while the program ended after Ctrl-C."""
    return any(isinstance(one, KeyboardInterrupt) for one in _chain(error))


def _text(error: BaseException) -> str:
    """Return the whole text of an exception. For an exception of py4j, the text is read from the
    JVM, which may have ended.
    """
    try:
        text = str(error)
        # PySpark does not include Java's stack trace in the text, but the cause may be only there.
        return f"{text}\n{getattr(error, '_stackTrace', '')}"
    except Exception:
        return ""


def lost_the_jvm(error: BaseException) -> bool:
    """Return whether an exception means that py4j could not reach the JVM."""
    if type(error).__module__.startswith("py4j.") and type(error).__name__ == "Py4JNetworkError":
        return True
    if not isinstance(error, OSError | EOFError):
        return False
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_globals.get("__name__", "").startswith("py4j."):
            return True
        frame = frame.tb_next
    return False
