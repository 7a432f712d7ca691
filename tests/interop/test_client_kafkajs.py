"""kafkajs, unmodified, on Node.js."""

from typing import ClassVar

import pytest

from tests.interop.client_contract import Client, ClientContract, Program
from tests.interop.foreign import built, tool


class TestKafkaJs(ClientContract):
    client: ClassVar[Client] = Program("kafkajs 2.2.4", ())

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _program(cls) -> None:
        node = tool("node", "nodejs npm")
        folder = built("kafkajs", (tool("npm", "npm"), "install", "--no-audit", "--no-fund", "--silent"))
        cls.client = Program("kafkajs 2.2.4", (node, folder / "client.js"))
