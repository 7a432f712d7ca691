r"""Parse access-log lines with Spark's own expressions. No Python code runs for each line.

`access_log.parse` is the same rule in plain Python. The expressions in this module must give the
same fields and the same reason for every line (`tests/spark/test_pipeline_lines.py` compares them).
Spark compiles the expressions to Java. So a line costs only a few microseconds, and is not copied
to a Python process.

Three steps give each record its columns:

1. One regular expression matches a good line. Its groups are joined again, with a byte between them
   that no good line contains, and `split` makes an array of them. So the expression runs once for
   each line, and not once for each of its eleven fields.
2. The time is parsed. A line with a date that does not exist is a bad line.
3. Only bad lines are parsed again, field by field, to find out why they are bad.

Next hop: `pipeline`.
"""

from typing import TYPE_CHECKING, Final

from pyspark.sql.functions import (
    array,
    coalesce,
    col,
    contains,
    explode,
    get,
    length,
    lit,
    regexp_extract,
    regexp_replace,
    split,
    startswith,
    try_to_timestamp,
    unix_micros,
    unix_seconds,
    when,
)

from kafka_edu.clients.web_log.access_log import MONTHS, Reason

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: The agent field of the clock lines. A clock line is not a request. It only moves the watermark
#: (`pipeline_log.clock_line`).
CLOCK_AGENT: Final = "kafka-edu-clock"

GOOD: Final = "good"
BAD: Final = "bad"
TOO_LATE: Final = "too_late"
CLOCK: Final = "clock"
KINDS: Final = (GOOD, BAD, TOO_LATE, CLOCK)

FIELDS: Final = (
    "client",
    "user",
    "time_text",
    "method",
    "path",
    "protocol",
    "status",
    "size",
    "referrer",
    "agent",
    "duration_us",
)
_TIME_FIELD: Final = FIELDS.index("time_text")
_AGENT_FIELD: Final = FIELDS.index("agent")
#: The byte between two joined fields. It cannot occur in a good line, which has only printable
#: ASCII.
_BETWEEN: Final = "\x01"

# In Java, a group with alternatives recurses for each repetition, so a long field would overflow
# the stack. Possessive quantifiers (*+) do not recurse, and never go back.
_WORD: Final = "[!-~]++"
_IN_QUOTES: Final = r"[ !#-\[\]-~]*+(?:\\[ -~][ !#-\[\]-~]*+)*+"
_REQUEST: Final = (
    r"([A-Z]++) ((?:[!#-\[\]-~]++|\\[!-~])++) (HTTP/\d(?:\.\d)?)"  # the target has no space
)
_TIME: Final = rf"\d\d/(?:{'|'.join(MONTHS)})/\d{{4}}:\d\d:\d\d:\d\d [+-]\d\d\d\d"
_STATUS: Final = r"[1-5]\d\d"
_NUMBER: Final = r"\d{1,15}"
_LINE: Final = (
    rf'^({_WORD}) {_WORD} ({_WORD}) \[({_TIME})\] "{_REQUEST}" ({_STATUS}) (-|{_NUMBER})'
    rf' "({_IN_QUOTES})" "({_IN_QUOTES})" ({_NUMBER})\z'
)
_TIME_FORMAT: Final = "dd/MMM/yyyy:HH:mm:ss Z"

_BRACKETED: Final = r"\[[^\]]*+\]"
_QUOTED: Final = f'"{_IN_QUOTES}"'
_END: Final = r"(?: |\z)"
#: One entry for each field, from left to right, as in `access_log.first_fault`: what ends the
#: field, what a correct field looks like, and the reason if the field is wrong.
_STEPS: Final = (
    (_WORD, _WORD, Reason.BAD_TIME),
    (_WORD, _WORD, Reason.BAD_TIME),
    (_WORD, _WORD, Reason.BAD_TIME),
    (_BRACKETED, rf"\[{_TIME}\]", Reason.BAD_TIME),
    (_QUOTED, f'"{_REQUEST}"', Reason.BAD_REQUEST),
    (_WORD, _STATUS, Reason.BAD_STATUS),
    (_WORD, f"(?:-|{_NUMBER})", Reason.BAD_SIZE),
    (_QUOTED, _QUOTED, Reason.BAD_QUOTES),
    (_QUOTED, _QUOTED, Reason.BAD_QUOTES),
    (_WORD, _NUMBER, Reason.BAD_REQUEST_TIME),
)


def parse(records: "DataFrame", watermark_s: int) -> "DataFrame":
    """Parse the line in each record. Return a row for each record, with its fields and its kind.

    `records` has the columns of the Kafka source. The result has partition, offset, kind, reason,
    line (of a bad line only), client, user, time, method, path, protocol, status, size, referrer,
    agent and duration_us. The kind is:

    - `bad`: the line cannot be read, and `reason` says why. Its bytes are kept in `line`.
    - `too_late`: the line was written more than `watermark_s` after its time. The record's
      timestamp says when it was written. So the result depends only on the record itself: it does
      not depend on the size of a batch, and a repeated batch gives the same result.
    - `clock`: the line is not a request. It only moves the watermark, so that the last windows
      close.
    - `good`: all other lines.
    """
    text = col("value").cast("string")
    between = _BETWEEN.join(f"${number + 1}" for number in range(len(FIELDS)))
    parts = split(regexp_replace(text, _LINE, between), _BETWEEN)
    read = records.select(
        "partition",
        "offset",
        col("timestamp").alias("written"),
        coalesce(col("value"), lit(b"")).alias("value"),
        # `explode` of an array with one element keeps the result of the expression. Without it,
        # Spark would copy the whole expression into each later filter, and match each line again.
        explode(array(when(~contains(text, lit(_BETWEEN)), parts))).alias("parts"),
    )
    has_all = get("parts", lit(len(FIELDS) - 1)).isNotNull()
    timed = read.withColumn("time", when(has_all, _time(get("parts", lit(_TIME_FIELD)))))
    is_good = col("time").isNotNull()
    late_us = unix_micros("written") - unix_seconds("time") * 1_000_000
    kind = (
        when(~is_good, BAD)
        .when(get("parts", lit(_AGENT_FIELD)) == CLOCK_AGENT, CLOCK)
        .when(late_us > watermark_s * 1_000_000, TOO_LATE)
        .otherwise(GOOD)
    )
    return timed.select(
        "partition",
        "offset",
        kind.alias("kind"),
        when(~is_good, reason(col("value"))).alias("reason"),
        when(~is_good, col("value")).alias("line"),
        "time",
        *(
            _field(number, name, is_good).alias(name)
            for number, name in enumerate(FIELDS)
            if number != _TIME_FIELD
        ),
    )


def _field(number: int, name: str, is_good: "Column") -> "Column":
    """Return one field of a good line. For a bad line, the field is null."""
    text = get("parts", lit(number))
    match name:
        case "user" | "referrer":
            value = when(text == "-", "").otherwise(text)
        case "size":
            value = when(text == "-", 0).otherwise(text.cast("long"))
        case "status":
            value = text.cast("int")
        case "duration_us":
            value = text.cast("long")
        case _:
            value = text
    return when(is_good, value)


def _time(text: "Column") -> "Column":
    """Parse a time such as `01/Aug/2018:20:15:07 +0000`. Return null if there is no such time."""
    return try_to_timestamp(text, lit(_TIME_FORMAT))


def reason(value: "Column") -> "Column":
    """Return the reason why a bad line is in quarantine. `value` are the bytes of the line.

    The reason is the first fault from the left, as in `access_log.first_fault`. Only bad lines are
    tested here, so ten expressions for each line do not cost much.
    """
    text = value.cast("string")
    found = lit(Reason.EXTRA.value)
    # The loop goes from right to left, so that the leftmost fault is tested first in the finished
    # expression.
    for number in reversed(range(len(_STEPS))):
        before = "^" + "".join(f"{allowed}{_END}" for _, allowed, _ in _STEPS[:number])
        field, allowed, fault = _STEPS[number]
        rest = regexp_replace(text, before, "")
        is_field = text.rlike(f"{before}{field}{_END}")
        is_open = (rest == "") | (
            (startswith(rest, lit("[")) & ~rest.rlike(f"^{_BRACKETED}"))
            | (startswith(rest, lit('"')) & ~rest.rlike(f"^{_QUOTED}"))
        )
        is_right = text.rlike(f"{before}{allowed}{_END}")
        if fault is Reason.BAD_TIME and field == _BRACKETED:
            is_right = (
                is_right & _time(regexp_extract(text, f"{before}\\[({_TIME})\\]", 1)).isNotNull()
            )
        wrong = when(~is_field & is_open, Reason.CUT.value).otherwise(fault.value)
        found = when(~is_right, wrong).otherwise(found)
    return (
        when(length(value) == 0, Reason.EMPTY.value)
        .when(text.rlike("[^ -~]"), Reason.NOT_TEXT.value)
        .otherwise(found)
    )
