"""Answer the four requests about delegation tokens, on a connection without authentication (Kafka:
KafkaApis.handleCreateTokenRequest …; KIP-48).

A token allows another client to act as the token's owner, so only an authenticated client may get a
token. On PLAINTEXT no client is authenticated. The answer is DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
"""

from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from kafka_edu.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from kafka_edu.protocol.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from kafka_edu.protocol.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis

NO_TIMESTAMP: Final = -1
#: The type and the name of the user that a client without authentication has
#: (KafkaPrincipal.ANONYMOUS).
USER_TYPE: Final = "User"
ANONYMOUS: Final = "ANONYMOUS"


class TokensApi:
    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.CREATE_DELEGATION_TOKEN,
            CreateDelegationTokenRequest,
            self.handle,
            self._create_error,
        )
        apis.serve(
            ApiKey.RENEW_DELEGATION_TOKEN,
            RenewDelegationTokenRequest,
            self.handle,
            self._renew_error,
        )
        apis.serve(
            ApiKey.EXPIRE_DELEGATION_TOKEN,
            ExpireDelegationTokenRequest,
            self.handle,
            self._expire_error,
        )
        apis.serve(
            ApiKey.DESCRIBE_DELEGATION_TOKEN,
            DescribeDelegationTokenRequest,
            self.handle,
            self._describe_error,
        )

    def handle(self, call: ApiCall, _: Message) -> None:
        call.respond_error(Errors.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)

    @staticmethod
    def _create_error(
        _: CreateDelegationTokenRequest, __: int, error: Errors, ___: str
    ) -> CreateDelegationTokenResponse:
        return CreateDelegationTokenResponse(
            error_code=error,
            principal_type=USER_TYPE,
            principal_name=ANONYMOUS,
            issue_timestamp_ms=NO_TIMESTAMP,
            expiry_timestamp_ms=NO_TIMESTAMP,
            max_timestamp_ms=NO_TIMESTAMP,
        )

    @staticmethod
    def _renew_error(
        _: RenewDelegationTokenRequest, __: int, error: Errors, ___: str
    ) -> RenewDelegationTokenResponse:
        return RenewDelegationTokenResponse(error_code=error, expiry_timestamp_ms=NO_TIMESTAMP)

    @staticmethod
    def _expire_error(
        _: ExpireDelegationTokenRequest, __: int, error: Errors, ___: str
    ) -> ExpireDelegationTokenResponse:
        return ExpireDelegationTokenResponse(error_code=error, expiry_timestamp_ms=NO_TIMESTAMP)

    @staticmethod
    def _describe_error(
        _: DescribeDelegationTokenRequest, __: int, error: Errors, ___: str
    ) -> DescribeDelegationTokenResponse:
        return DescribeDelegationTokenResponse(error_code=error)
