"""The client contract with the Java clients of Kafka 2.0, 3.9 and 4, unmodified."""

from collections.abc import Mapping
from typing import ClassVar

import pytest

from tests.interop.client_contract import Client, ClientContract, Program
from tests.interop.external_programs import java_program

pytestmark = pytest.mark.interop


def java_client(version: str, lacks: Mapping[str, str] | None = None) -> Program:
    """Build the client of this version. Skips the test where that is not possible."""
    return Program(f"Java kafka-clients {version}", java_program("java", "Client", version), lacks)


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
