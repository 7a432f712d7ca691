"""The Java clients of Kafka 2.0, 3.9 and 4, unmodified."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from benchmarks.apache_kafka import PeerMissing, maven_jars
from tests.interop.client_contract import Client, ClientContract, Program
from tests.interop.foreign import built, missing, tool


def java_client(version: str, lacks: Mapping[str, str] | None = None) -> Program:
    """The client of that version, built; skips where it cannot be had.

    The jars are fetched by Maven into a cache, unless KAFKA_EDU_JAVA_CLIENTS names a folder with a folder of jars for each version.
    """
    java, javac = tool("java", "default-jdk-headless"), tool("javac", "default-jdk-headless")
    given = os.environ.get("KAFKA_EDU_JAVA_CLIENTS")
    try:
        artifacts = [f"org.apache.kafka:kafka-clients:{version}", "org.slf4j:slf4j-nop:1.7.36"]
        jars = Path(given) / version if given else maven_jars(f"java-clients-{version}", artifacts)
    except PeerMissing as error:
        missing(str(error))
    folder = built("java", (javac, "-nowarn", "-cp", f"{jars}/*", "-d", version, "Client.java"), version)
    command = (java, "-XX:TieredStopAtLevel=1", "-cp", f"{folder / version}:{jars}/*", "Client")
    return Program(f"Java kafka-clients {version}", command, lacks)


class JavaContract(ClientContract):
    version: ClassVar[str]
    lacks: ClassVar[dict[str, str]] = {}
    client: ClassVar[Client]

    def __init_subclass__(cls) -> None:
        cls.client = Program(f"Java kafka-clients {cls.version}", (), cls.lacks)

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _program(cls) -> None:
        cls.client = java_client(cls.version, cls.lacks)


class TestJava2(JavaContract):
    version = "2.0.0"
    lacks: ClassVar[dict[str, str]] = {"zstd": "zstd came with Kafka 2.1"}


class TestJava3(JavaContract):
    version = "3.9.1"


class TestJava4(JavaContract):
    version = "4.1.1"
