"""The client contract with kafkajs, unmodified, on Node.js."""

import json
from typing import ClassVar, Final

import pytest

from tests.interop.client_contract import Client, ClientContract, Program
from tests.interop.external_programs import HERE, built, tool

pytestmark = pytest.mark.interop

NAME: Final = (
    "kafkajs"
    f" {json.loads((HERE / 'kafkajs' / 'package.json').read_text())['dependencies']['kafkajs']}"
)


class TestKafkaJs(ClientContract):
    client: ClassVar[Client] = Program(NAME, ())

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _program(cls) -> None:
        node = tool("node", "nodejs npm")
        folder = built("kafkajs", (tool("npm", "npm"), "ci", "--no-audit", "--no-fund"))
        cls.client = Program(NAME, (node, folder / "client.js"))
