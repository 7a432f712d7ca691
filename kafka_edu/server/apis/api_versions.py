"""ApiVersions: the first request of every client (Kafka: KafkaApis.handleApiVersionsRequest;
KIP-35, KIP-511).
"""

from collections.abc import Callable

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.api_versions_response import api_versions_error, api_versions_response
from kafka_edu.protocol.api_versions_table import VersionTable
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis


class ApiVersionsApi:
    """Answers with the API versions that the broker supports.

    If the version of the ApiVersions request itself is unknown, the answer lists the supported
    versions of ApiVersions.
    """

    def __init__(self, versions: VersionTable, features_epoch: Callable[[], int | None]) -> None:
        self._versions = versions
        self._features_epoch = features_epoch

    def register(self, apis: KafkaApis) -> None:
        apis.serve(ApiKey.API_VERSIONS, ApiVersionsRequest, self.handle, self.error_response)

    def handle(self, call: ApiCall, request: ApiVersionsRequest) -> None:
        call.respond(
            api_versions_response(request, call.version, self._versions, self._features_epoch())
        )

    def error_response(
        self, _: ApiVersionsRequest, __: int, error: Errors, ___: str
    ) -> ApiVersionsResponse:
        return api_versions_error(error, self._versions)
