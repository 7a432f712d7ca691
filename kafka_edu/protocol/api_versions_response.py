"""The answer to ApiVersions, from a table of versions: for brokers, and for whoever else is asked
what it speaks (Kafka: ApiVersionsRequest.java; KIP-511).
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
    """`versions`, by key, and the epoch of the finalized features if there is one.

    From v3 on the client names its software; a name that breaks the rules is INVALID_REQUEST,
    because it would spoil metrics.
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
    """One that asks in a version which is not served is told which versions of ApiVersions there
    are, so that it can ask again.
    """
    keys = []
    if error is Errors.UNSUPPORTED_VERSION:
        low, high = versions[ApiKey.API_VERSIONS]
        keys = [ApiVersion(api_key=ApiKey.API_VERSIONS, min_version=low, max_version=high)]
    return ApiVersionsResponse(error_code=error, api_keys=keys)
