"""The client contract with sarama, unmodified, in a Go program. It is the last version that the Go
of Debian 12 (1.19) can compile.
"""

import re
from typing import ClassVar, Final

import pytest

from tests.interop.client_contract import Client, ClientContract, Program
from tests.interop.external_programs import HERE, built, tool

pytestmark = pytest.mark.interop

NAME: Final = (
    "sarama " + re.findall(r"IBM/sarama v(\S+)", (HERE / "sarama" / "go.mod").read_text())[0]
)


class TestSarama(ClientContract):
    client: ClassVar[Client] = Program(NAME, ())

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _program(cls) -> None:
        folder = built("sarama", (tool("go", "golang"), "build", "-o", "client", "."))
        cls.client = Program(NAME, (folder / "client",))
