"""DescribeClientQuotas and AlterClientQuotas (Kafka: KafkaApis.handleDescribeClientQuotasRequest …;
KIP-546). Any broker answers. ClientQuotas does the work.
"""

from collections.abc import Mapping
from typing import TypeVar

from kafka_edu.common.errors import Errors, message_beside
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages import alter_client_quotas, describe_client_quotas
from kafka_edu.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntry,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntry,
)
from kafka_edu.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    DescribeClientQuotasResponseEntry,
    ValueData,
)
from kafka_edu.server.admin.client_quotas import ClientQuotas, QuotaEntity, QuotaFilter, QuotaOp
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis

E = TypeVar("E", alter_client_quotas.EntityData, describe_client_quotas.EntityData)


class QuotasApi:
    def __init__(self, quotas: ClientQuotas) -> None:
        self._quotas = quotas

    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.DESCRIBE_CLIENT_QUOTAS,
            DescribeClientQuotasRequest,
            self.handle_describe,
            self._describe_error,
        )
        apis.serve(
            ApiKey.ALTER_CLIENT_QUOTAS,
            AlterClientQuotasRequest,
            self.handle_alter,
            self._alter_error,
        )

    async def handle_describe(self, call: ApiCall, request: DescribeClientQuotasRequest) -> None:
        filters = [QuotaFilter(c.entity_type, c.match_type, c.match) for c in request.components]
        entries = [
            DescribeClientQuotasResponseEntry(
                entity=_parts(describe_client_quotas.EntityData, entity),
                values=[ValueData(key=key, value=value) for key, value in values.items()],
            )
            for entity, values in (await self._quotas.describe(filters, request.strict)).items()
        ]
        call.respond(DescribeClientQuotasResponse(error_message="", entries=entries))

    async def handle_alter(self, call: ApiCall, request: AlterClientQuotasRequest) -> None:
        """Change quotas. If the request contains an entity, a part of an entity, or a key twice,
        the last entry counts.
        """
        entries = {
            _entity(entry): [QuotaOp(op.key, None if op.remove else op.value) for op in entry.ops]
            for entry in request.entries
        }
        call.respond(_altered(await self._quotas.alter(entries, request.validate_only)))

    @staticmethod
    def _describe_error(
        _: DescribeClientQuotasRequest, __: int, error: Errors, message: str
    ) -> DescribeClientQuotasResponse:
        return DescribeClientQuotasResponse(
            error_code=error, error_message=message_beside(error, message), entries=None
        )

    @staticmethod
    def _alter_error(
        request: AlterClientQuotasRequest, _: int, error: Errors, message: str
    ) -> AlterClientQuotasResponse:
        return _altered({_entity(entry): (error, message) for entry in request.entries})


def _entity(entry: AlterClientQuotasRequestEntry) -> QuotaEntity:
    return frozenset({part.entity_type: part.entity_name for part in entry.entity}.items())


def _parts(part: type[E], entity: QuotaEntity) -> list[E]:
    """Return the parts of an entity for a response, in Kafka's order: the user first, then the
    client.
    """
    return [
        part(entity_type=entity_type, entity_name=name)
        for entity_type, name in sorted(entity, reverse=True)
    ]


def _altered(results: Mapping[QuotaEntity, tuple[Errors, str]]) -> AlterClientQuotasResponse:
    entries = []
    for entity, (error, message) in results.items():
        parts = _parts(alter_client_quotas.EntityData, entity)
        entries.append(
            AlterClientQuotasResponseEntry(
                error_code=error, error_message=message_beside(error, message), entity=parts
            )
        )
    return AlterClientQuotasResponse(entries=entries)
