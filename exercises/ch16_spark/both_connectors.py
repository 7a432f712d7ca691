"""The two connectors with which a PySpark exercise reads a topic."""

from collections.abc import Iterator
from typing import Final

CONNECTORS: Final = ("python", "official")
"""The connectors, ours first. Their names are values of `kafka_edu.spark.connectors.Connector`."""

SOURCES: Final = {"python": "kafka-edu", "official": "kafka"}
"""Connector → its name for `format(…)`."""


def connectors_here() -> Iterator[str]:
    """Yield the connectors: ours, and Spark's own if it can be fetched."""
    for connector in CONNECTORS:
        if connector != "official" or not why_no_official():
            yield connector


def why_no_official() -> str:
    """Return why Spark's own connector cannot be used here; empty if it can be."""
    from pyspark import __version__

    from kafka_edu.spark.official_jars import OfficialConnectorMissing, official_jars

    try:
        official_jars(__version__)
    except OfficialConnectorMissing as error:
        return str(error)
    return ""
