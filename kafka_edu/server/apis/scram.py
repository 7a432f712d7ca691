"""DescribeUserScramCredentials and AlterUserScramCredentials (Kafka:
KafkaApis.handleDescribeUserScramCredentialsRequest …; KIP-554).

Any broker returns the description of credentials. Only the controller changes credentials.
UserScramManager does the work.
"""

from collections.abc import Callable, Mapping

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from kafka_edu.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from kafka_edu.server.admin.user_scram_manager import (
    ScramDeletion,
    ScramUpsertion,
    UserScramManager,
)
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis


class ScramApi:
    def __init__(self, manager: UserScramManager, is_controller: Callable[[], bool]) -> None:
        self._manager = manager
        self._is_controller = is_controller

    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
            DescribeUserScramCredentialsRequest,
            self.handle_describe,
            self._describe_error,
        )
        apis.serve(
            ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
            AlterUserScramCredentialsRequest,
            self.handle_alter,
            self._alter_error,
        )

    async def handle_describe(
        self, call: ApiCall, request: DescribeUserScramCredentialsRequest
    ) -> None:
        """Answer with the credentials of the named users. If the list of users is empty or null,
        include all users.
        """
        described = await self._manager.describe(
            None if request.users is None else [user.name for user in request.users]
        )
        results = []
        for user, (error, message, iterations) in described.items():
            infos = [
                CredentialInfo(mechanism=mechanism, iterations=count)
                for mechanism, count in iterations.items()
            ]
            results.append(
                DescribeUserScramCredentialsResult(
                    user=user, error_code=error, error_message=message, credential_infos=infos
                )
            )
        call.respond(DescribeUserScramCredentialsResponse(error_message="", results=results))

    async def handle_alter(self, call: ApiCall, request: AlterUserScramCredentialsRequest) -> None:
        """Change credentials. If this broker is not the controller, every user gets NOT_CONTROLLER
        without a message, as in Kafka.
        """
        if not self._is_controller():
            call.respond(_altered(dict.fromkeys(_users(request), (Errors.NOT_CONTROLLER, None))))
            return
        deletions = [ScramDeletion(d.name, d.mechanism) for d in request.deletions]
        upsertions = [
            ScramUpsertion(
                u.name, u.mechanism, u.iterations, bytes(u.salt), bytes(u.salted_password)
            )
            for u in request.upsertions
        ]
        call.respond(_altered(await self._manager.alter(deletions, upsertions)))

    @staticmethod
    def _describe_error(
        _: DescribeUserScramCredentialsRequest, __: int, error: Errors, message: str
    ) -> DescribeUserScramCredentialsResponse:
        return DescribeUserScramCredentialsResponse(
            error_code=error, error_message=message or error.message
        )

    @staticmethod
    def _alter_error(
        request: AlterUserScramCredentialsRequest, _: int, error: Errors, message: str
    ) -> AlterUserScramCredentialsResponse:
        return _altered(dict.fromkeys(_users(request), (error, message or error.message)))


def _users(request: AlterUserScramCredentialsRequest) -> list[str]:
    return [*(d.name for d in request.deletions), *(u.name for u in request.upsertions)]


def _altered(results: Mapping[str, tuple[Errors, str | None]]) -> AlterUserScramCredentialsResponse:
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(user=user, error_code=error, error_message=text)
            for user, (error, text) in results.items()
        ]
    )
