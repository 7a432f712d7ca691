"""Find the jars of Spark's official Kafka connector. They are not part of PySpark, so they are
downloaded from Maven.

There are four jars: the connector, its token provider, Kafka's Java client, and a library for
object pools. All other libraries that they need are among PySpark's own jars.
"""

from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.maven_jars import PeerMissing, is_fetched, maven_jars
from kafka_edu.spark.source_errors import SourceError

_ARTIFACT: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13"
#: Dependencies that are already among PySpark's jars.
_IN_PYSPARK: Final = (
    "org.apache.spark:spark-tags_2.13",
    "org.apache.hadoop:*",
    "org.scala-lang:*",
    "org.scala-lang.modules:*",
    "org.slf4j:*",
    "com.google.code.findbugs:*",
    "at.yawk.lz4:*",
    "org.lz4:*",
    "org.xerial.snappy:*",
    "com.github.luben:*",
)


class OfficialConnectorMissing(SourceError):
    """Raised if the official connector cannot be downloaded. The message says what the user
    can do.
    """


class OfficialJars(NamedTuple):
    """The jars of the official connector in the user's cache, and their version."""

    version: str
    spark_version: str
    files: tuple[Path, ...]

    @property
    def note(self) -> str:
        """A sentence about the difference between the connector's version and Spark's. Empty if
        they are equal.
        """
        if self.version == self.spark_version:
            return ""
        return (
            f"Maven has no connector for Spark {self.spark_version}, so this is the one of"
            f" {self.version}."
        )


def versions_to_try(spark_version: str) -> list[str]:
    """Return the connector versions to try: Spark's own version first, then older ones of the same
    minor version, the newest first.

    >>> versions_to_try("4.2.2")
    ['4.2.2', '4.2.1', '4.2.0']
    """
    minor, _, patch = spark_version.rpartition(".")
    if not patch.isdigit():
        return [spark_version]
    return [f"{minor}.{number}" for number in range(int(patch), -1, -1)]


def official_jars(spark_version: str) -> OfficialJars:
    """Return the connector for this version of Spark. It is downloaded from Maven the first time.

    If a connector of the same minor version is in the cache already, it is used without a request
    to Maven. Raises OfficialConnectorMissing if the cache has no connector and the download fails.
    """
    versions = versions_to_try(spark_version)
    reason = ""
    for version in [v for v in versions if is_fetched(_folder(v))] or versions:
        try:
            folder = maven_jars(_folder(version), [f"{_ARTIFACT}:{version}"], _IN_PYSPARK)
        except PeerMissing as error:
            reason = reason or str(error)
            continue
        return OfficialJars(version, spark_version, tuple(sorted(folder.glob("*.jar"))))
    raise OfficialConnectorMissing(
        f"Spark's own Kafka connector is not here. {reason}. Check the network and Maven, or use"
        " the connector python, which needs no jar"
    )


def fetched_jars(spark_version: str) -> OfficialJars | None:
    """Return the connector for this version of Spark if it is in the cache already."""
    fetched = any(is_fetched(_folder(version)) for version in versions_to_try(spark_version))
    return official_jars(spark_version) if fetched else None


def _folder(version: str) -> str:
    return f"spark-kafka-{version}"
