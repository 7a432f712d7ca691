"""UpdateFeatures: no feature is supported, so none can be finalised (Kafka:
KafkaController.processFeatureUpdates; KIP-584).

Kafka 2.8 has the mechanism, but no feature that uses it. So every update is refused, with a reason
for each update. Only the controller answers.
"""

from collections.abc import Callable

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis


class UpdateFeaturesApi:
    def __init__(self, is_controller: Callable[[], bool]) -> None:
        self._is_controller = is_controller

    def register(self, apis: KafkaApis) -> None:
        apis.serve(ApiKey.UPDATE_FEATURES, UpdateFeaturesRequest, self.handle, self.error_response)

    def handle(self, call: ApiCall, request: UpdateFeaturesRequest) -> None:
        """Refuse each update. If the request contains a feature twice, the last entry counts."""
        if not self._is_controller():
            raise KafkaException(Errors.NOT_CONTROLLER)
        updates = {update.feature: update for update in request.feature_updates}
        results = [
            UpdatableFeatureResult(
                feature=name, error_code=Errors.INVALID_REQUEST, error_message=_refusal(update)
            )
            for name, update in updates.items()
        ]
        call.respond(UpdateFeaturesResponse(error_message=None, results=results))

    @staticmethod
    def error_response(
        _: UpdateFeaturesRequest, __: int, error: Errors, message: str
    ) -> UpdateFeaturesResponse:
        return UpdateFeaturesResponse(error_code=error, error_message=message or error.message)


def _refusal(update: FeatureUpdateKey) -> str:
    if not update.feature:
        return "a feature's name cannot be empty"
    if update.max_version_level >= 1:
        return f"{update.feature} is not a feature that is supported here"
    if not update.allow_downgrade:
        return (
            f"a version level of {update.max_version_level} deletes the feature; that needs"
            " allow_downgrade"
        )
    return f"{update.feature} is not finalised, and so cannot be deleted"
