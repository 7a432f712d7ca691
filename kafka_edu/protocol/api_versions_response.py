"""Build the response to ApiVersions from a version table (Kafka: ApiVersionsRequest.java; KIP-511).

Brokers use this module, and so does every other server of this project that answers ApiVersions.
"""

import re
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.api_versions_table import VersionTable
from kafka_edu.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)

SOFTWARE_NAME: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
UNKNOWN_FEATURES_EPOCH: Final = -1


def api_versions_response(
    request: ApiVersionsRequest,
    version: int,
    versions: VersionTable,
    features_epoch: int | None = None,
) -> ApiVersionsResponse:
    """Build the response that lists `versions`, sorted by API key.

    `features_epoch` is the epoch of the finalized features. None means that there are no such
    features. From v3 on, the request has the name and version of the client's software. If one of
    these texts contains forbidden characters, the response has the error INVALID_REQUEST, because
    the texts become part of metrics' names.
    """
    if version >= 3 and not (
        SOFTWARE_NAME.fullmatch(request.client_software_name)
        and SOFTWARE_NAME.fullmatch(request.client_software_version)
    ):
        return api_versions_error(Errors.INVALID_REQUEST, versions)
    return ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=key, min_version=low, max_version=high)
            for key, (low, high) in sorted(versions.items())
        ],
        finalized_features_epoch=(
            UNKNOWN_FEATURES_EPOCH if features_epoch is None else features_epoch
        ),
    )


def api_versions_error(error: Errors, versions: VersionTable) -> ApiVersionsResponse:
    """Build the response with the error `error`.

    For the error UNSUPPORTED_VERSION, the response also lists the versions of ApiVersions. So the
    client can send a second request in a version that the broker knows.
    """
    keys = []
    if error is Errors.UNSUPPORTED_VERSION:
        low, high = versions[ApiKey.API_VERSIONS]
        keys = [ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=low, max_version=high)]
    return ApiVersionsResponse(error_code=error, api_keys=keys)
