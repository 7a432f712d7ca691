"""controlled-shutdown asks the controller: how a broker answers that it is another one."""

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.messages.controlled_shutdown import ControlledShutdownResponse
from kafka_edu.tools import controlled_shutdown


def test_a_controlled_shutdown() -> None:
    assert (
        controlled_shutdown.error_of(
            ControlledShutdownResponse(error_code=Errors.STALE_CONTROLLER_EPOCH)
        )
        is Errors.NOT_CONTROLLER
    )
    for error in (Errors.NONE, Errors.BROKER_NOT_AVAILABLE, Errors.STALE_BROKER_EPOCH):
        assert controlled_shutdown.error_of(ControlledShutdownResponse(error_code=error)) is error
