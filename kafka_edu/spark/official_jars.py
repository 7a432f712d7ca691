"""The jars of Spark's own Kafka connector. They are no part of PySpark, so Maven fetches them.

They are four: the connector, its token provider, Kafka's Java client and a pool of objects. The
libraries that these need are among PySpark's own jars.
"""

from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.maven_jars import PeerMissing, is_fetched, maven_jars
from kafka_edu.spark.source_errors import SourceError

_ARTIFACT: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13"
#: Dependencies that PySpark brings.
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
    """The official connector cannot be fetched here. The message says what to do."""


class OfficialJars(NamedTuple):
    """The official connector, as it lies in the user's cache."""

    version: str
    spark_version: str
    files: tuple[Path, ...]

    @property
    def note(self) -> str:
        """How its version differs from Spark's, in a sentence. Empty if it does not."""
        if self.version == self.spark_version:
            return ""
        return (
            f"Maven has no connector for Spark {self.spark_version}, so this is the one of"
            f" {self.version}."
        )


def versions_to_try(spark_version: str) -> list[str]:
    """Return Spark's own version, then the older ones of the same minor version, newest first.

    >>> versions_to_try("4.2.2")
    ['4.2.2', '4.2.1', '4.2.0']
    """
    minor, _, patch = spark_version.rpartition(".")
    if not patch.isdigit():
        return [spark_version]
    return [f"{minor}.{number}" for number in range(int(patch), -1, -1)]


def official_jars(spark_version: str) -> OfficialJars:
    """Return the connector for this version of Spark. Maven fetches it the first time.

    A version of the same minor version that was fetched before is used without asking Maven.
    Raises OfficialConnectorMissing.
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


def _folder(version: str) -> str:
    return f"spark-kafka-{version}"
