"""aiokafka, unmodified."""

import pytest

from tests.interop.client_contract import ClientContract
from tests.interop.external_programs import python_package

python_package("aiokafka")

from tests.interop.aiokafka_client import AioKafka  # noqa: E402 - it may not be installed


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
class TestAioKafka(ClientContract):
    client = AioKafka()
