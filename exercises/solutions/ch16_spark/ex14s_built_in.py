"""Exercise 16-14s: the reference solution."""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import col, lower, regexp_replace, substring_index, when

ADDRESS = r"\A([0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})\.[0-9]{1,3}\z"


def build(spark: SparkSession, records: DataFrame) -> DataFrame:
    """Return a row for each record: client, page, family and kind."""
    client, status = col("client"), col("status")
    masked = when(client.rlike(ADDRESS), regexp_replace(client, ADDRESS, "$1.0"))
    path = regexp_replace(substring_index("url", "?", 1), "/+", "/")
    page = when(path == "/", path).otherwise(regexp_replace(path, r"/\z", ""))
    kind = when(status >= 500, "ours").when(status >= 400, "theirs")
    return records.select(
        masked.when(client.isNotNull(), "hidden").alias("client"),
        page.alias("page"),
        family(lower("agent")).alias("family"),
        kind.when(status.isNull(), "unknown").otherwise("ok").alias("kind"),
    )


def family(agent: Column) -> Column:
    """Return the first word, such as "firefox", that a lower-case agent contains, or "other"."""
    found = when(agent.contains("bot"), "bot")
    for word in ("firefox", "edg", "chrome", "safari"):
        found = found.when(agent.contains(word), word)
    return found.otherwise("other")
