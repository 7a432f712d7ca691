"""Show lines from Spark's Python workers to the user.

Our source runs in processes that Spark starts. Their standard error goes to the standard error of
the JVM. If `java_gateway` has started the JVM, the JVM's output is hidden, because most of it is of
no use for the user. So a line that the user must see is marked, and `java_gateway` looks for marked
lines and shows them.

If an executor runs on another machine, its workers' lines are in the executor's own log.
"""

import sys
from typing import Final

MARK: Final = "kafka-edu: "


def give_notice(line: str) -> None:
    """Show a line to the user of this query. It can be called in any process of the query."""
    print(f"{MARK}{' '.join(line.split())}", file=sys.stderr, flush=True)


def notice_in(line: str) -> str | None:
    """Return the notice in a line of output, or None if the line is not a notice."""
    _, mark, notice = line.partition(MARK)
    return notice.rstrip() if mark else None
