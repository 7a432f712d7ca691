"""Start the queries of a stream: all at the same time, and again if the machine was too busy.

Spark starts a Python process for the source of each query. It gives the process ten seconds to
connect, on every machine, and no setting of Spark changes this. On a busy machine the process may
need longer, and its query fails. So `start_queries` works in two steps:

1. It starts all queries. The `start` of a writer returns before the source has started, so the
   sources start side by side.
2. It starts a query again if its process was too slow. It does this one query at a time, because
   four processes at once may be just what made the machine too slow.

There is no fixed number of attempts. `start_queries` continues as long as it sees progress. It
gives up in two cases, counted from the moment when the last query began to run. Either this program
and its child processes have used much processor time. Or they have done nothing for a long time
although they could have run (`start_limit`).

All commands start their queries here.
"""

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_edu.spark.start_limit import StartLimit

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

#: A part of the error of a query whose Python process did not connect within ten seconds.
TOO_SLOW: Final = "Python worker failed to connect back"
_LOOK_EVERY_S: Final = 0.1


class Starting(NamedTuple):
    """How far the start of some queries has come."""

    names: tuple[str, ...]
    """The names of all queries."""
    waiting: tuple[str, ...]
    """The names of the queries that do not run yet."""
    current: str = ""
    """The name of the query that is being started for the first time. Empty if all were started."""
    again: int = 0
    """How many times a query was started again, because its Python process was too slow."""

    def __str__(self) -> str:
        """Return one line, for example `starting query 2 of 4: windows`."""
        count = len(self.names)
        if self.current:
            number = self.names.index(self.current) + 1
            return f"starting query {number} of {count}: {self.current}"
        line = f"{count - len(self.waiting)} of {count} queries run"
        if self.waiting:
            line += f", starting {', '.join(self.waiting)}"
        return line + (f"; busy machine, {self.again} started again" if self.again else "")


def start_queries(
    writers: Mapping[str, "DataStreamWriter"],
    show: Callable[[Starting], None] = lambda starting: None,
    *,
    new_limit: Callable[[], StartLimit] = lambda: StartLimit([os.getpid()]),
    wait: Callable[[float], None] = time.sleep,
) -> "dict[str, StreamingQuery]":
    """Start a query for each writer, and return the queries by name when all of them run.

    A query that has already ended without an error counts as running. `show` is called before
    each start, and then about ten times a second. `new_limit` makes the limit for the time until
    the next query runs. `wait` waits for some seconds.

    If a query fails, stop the others and raise its error.
    """
    names = tuple(writers)
    found: dict[str, StreamingQuery] = {}
    slow: list[str] = []  # started again when no other query is starting
    limit, is_over, again = new_limit(), False, 0
    try:
        for name in names:
            show(Starting(names, names, name))
            found[name] = writers[name].start()
        waiting = list(names)
        while True:
            is_over = is_over or limit.is_over()
            for name in [one for one in waiting if one not in slow]:
                query = found[name]
                if query.isActive and _is_starting(query):
                    continue
                if not query.isActive and (error := query.exception()) is not None:
                    if TOO_SLOW not in str(error) or is_over:
                        raise error
                    slow.append(name)
                    continue
                waiting.remove(name)
                limit, is_over = new_limit(), False
            if slow and len(slow) == len(waiting):
                name = slow.pop(0)
                again += 1
                found[name] = writers[name].start()
            show(Starting(names, tuple(waiting), again=again))
            if not waiting:
                return found
            wait(_LOOK_EVERY_S)
    except BaseException:
        for query in found.values():
            query.stop()
        raise


def _is_starting(query: "StreamingQuery") -> bool:
    """Return whether Spark is still preparing the sources of a query."""
    message: str = query.status["message"]
    return message.startswith("Initializing")
