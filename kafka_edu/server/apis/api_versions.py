"""ApiVersions: the first request of every client (Kafka: ApiVersionsRequest.java, KafkaApis.handleApiVersionsRequest; KIP-35, KIP-511)."""

import re
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.api_versions_table import VersionTable
from kafka_edu.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis

SOFTWARE_NAME: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


class ApiVersionsApi:
    """Answers with the table we advertise. One that asks in a version we do not know is told which versions of ApiVersions there are."""

    def __init__(self, versions: VersionTable) -> None:
        self._versions = versions

    def register(self, apis: KafkaApis) -> None:
        apis.serve(ApiKey.API_VERSIONS, ApiVersionsRequest, self.handle, self.error_response)

    def handle(self, call: ApiCall, request: ApiVersionsRequest) -> None:
        """From v3 on the client names its software; a name that breaks the rules is INVALID_REQUEST, for it would spoil metrics."""
        if call.version >= 3 and not (
            SOFTWARE_NAME.fullmatch(request.client_software_name) and SOFTWARE_NAME.fullmatch(request.client_software_version)
        ):
            call.respond_error(Errors.INVALID_REQUEST)
            return
        call.respond(ApiVersionsResponse(api_keys=[ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in self._table()]))

    def _table(self) -> list[tuple[ApiKey, tuple[int, int]]]:
        return sorted(self._versions.items())

    def error_response(self, _: ApiVersionsRequest, __: int, error: Errors, ___: str) -> ApiVersionsResponse:
        keys = []
        if error is Errors.UNSUPPORTED_VERSION:
            low, high = self._versions[ApiKey.API_VERSIONS]
            keys = [ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=low, max_version=high)]
        return ApiVersionsResponse(error_code=error, api_keys=keys)
