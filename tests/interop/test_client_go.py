"""The client contract with three clients in Go, unmodified: sarama, franz-go and kafka-go.

Each is the last version that the Go of Debian 12 (1.19) can compile.
"""

import re
from typing import ClassVar

import pytest

from tests.interop.client_contract import Client, ClientContract, Program
from tests.interop.external_programs import HERE, built, tool

pytestmark = pytest.mark.interop


class GoContract(ClientContract):
    folder: ClassVar[str]
    """The folder of the program, next to this file."""
    module: ClassVar[str]
    """The client's module, as go.mod names it. Its last part is the name in the table."""
    client: ClassVar[Client]

    def __init_subclass__(cls) -> None:
        required = (HERE / cls.folder / "go.mod").read_text(encoding="utf-8")
        version = re.findall(rf"{re.escape(cls.module)} v(\S+)", required)[0]
        cls.client = Program(f"{cls.module.rpartition('/')[2]} {version}", ())

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _program(cls) -> None:
        folder = built(cls.folder, (tool("go", "golang"), "build", "-o", "client", "."))
        cls.client = Program(cls.client.name, (folder / "client",))


class TestSarama(GoContract):
    folder = "sarama"
    module = "github.com/IBM/sarama"


class TestFranz(GoContract):
    folder = "franz"
    module = "github.com/twmb/franz-go"


class TestKafkaGo(GoContract):
    folder = "kafka_go"
    module = "github.com/segmentio/kafka-go"
