"""Lines for the user from Spark's Python workers.

Our source plans and reads in processes that Spark starts. What they write to standard error reaches
the standard error of the JVM. A JVM that `java_gateway` started keeps its output to itself, because
most of it is noise. So a line that the user must see has a mark, and `java_gateway` looks for it.

On a cluster of other machines, what an executor's worker writes is in the executor's own log.
"""

import sys
from typing import Final

MARK: Final = "kafka-edu: "


def give_notice(line: str) -> None:
    """Tell the user of this query something, from whichever process this is."""
    print(f"{MARK}{' '.join(line.split())}", file=sys.stderr, flush=True)


def notice_in(line: str) -> str | None:
    """Return the notice that a line of output is, or None."""
    _, mark, notice = line.partition(MARK)
    return notice.rstrip() if mark else None
