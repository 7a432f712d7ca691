"""The client contract with aiokafka, unmodified."""

from typing import ClassVar

import pytest

from tests.interop.client_contract import Client, ClientContract, Program
from tests.interop.external_programs import python_package

pytestmark = pytest.mark.interop


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
class TestAioKafka(ClientContract):
    client: ClassVar[Client] = Program("aiokafka", ())

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _client(cls) -> None:
        python_package("aiokafka")
        from tests.interop.aiokafka_client import AioKafka

        cls.client = AioKafka()
