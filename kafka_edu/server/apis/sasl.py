"""SaslHandshake and SaslAuthenticate on a connection without SASL (Kafka:
KafkaApis.handleSaslHandshakeRequest, handleSaslAuthenticateRequest).

On a listener with SASL, the authenticator answers these requests before it allows any other
request. On a PLAINTEXT listener no authentication is expected. So the answer is ILLEGAL_SASL_STATE,
and the connection stays open.
"""

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafka_edu.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis


class SaslApi:
    def register(self, apis: KafkaApis) -> None:
        apis.serve(ApiKey.SASL_HANDSHAKE, SaslHandshakeRequest, self.handle, self._handshake_error)
        apis.serve(
            ApiKey.SASL_AUTHENTICATE, SaslAuthenticateRequest, self.handle, self._authenticate_error
        )

    def handle(self, call: ApiCall, _: SaslHandshakeRequest | SaslAuthenticateRequest) -> None:
        call.respond_error(Errors.ILLEGAL_SASL_STATE, "this connection needs no SASL")

    @staticmethod
    def _handshake_error(
        _: SaslHandshakeRequest, __: int, error: Errors, ___: str
    ) -> SaslHandshakeResponse:
        return SaslHandshakeResponse(error_code=error, mechanisms=[])

    @staticmethod
    def _authenticate_error(
        _: SaslAuthenticateRequest, __: int, error: Errors, message: str
    ) -> SaslAuthenticateResponse:
        return SaslAuthenticateResponse(error_code=error, error_message=message)
