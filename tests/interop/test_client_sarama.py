"""sarama, unmodified, in a Go program."""

from typing import ClassVar

import pytest

from tests.interop.client_contract import Client, ClientContract, Program
from tests.interop.foreign import built, tool

NAME = "sarama 1.43.3"  # the last that Go 1.19 compiles, Debian 12's


class TestSarama(ClientContract):
    client: ClassVar[Client] = Program(NAME, ())

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _program(cls) -> None:
        folder = built("sarama", (tool("go", "golang"), "build", "-o", "client", "."))
        cls.client = Program(NAME, (folder / "client",))
