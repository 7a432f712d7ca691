"""Read and write the quotas of users, clients and addresses in ZooKeeper (Kafka:
ZkAdminManager.describeClientQuotas, alterClientQuotas; KIP-546, KIP-612).

    /config/users/<user>                     quotas of a user
    /config/users/<user>/clients/<client>    quotas of a user's client
    /config/clients/<client>                 quotas of a client id
    /config/ips/<address>                    connection quota of an address

The name `<default>` stands for all users, clients or addresses that have no quota of their own.
Names are percent-encoded. Quotas are stored, but nothing reads them yet: no client is throttled.
"""

import ipaddress
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from kafka_edu.common.config_def import MAX_INT, MAX_LONG, ConfigType, double_text
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.server.admin.user_scram_manager import ScramMechanism
from kafka_edu.server.config.config_gaps import NO_QUOTAS
from kafka_edu.server.config.dynamic_broker_config import DEFAULT_ENTITY
from kafka_edu.server.config.entity_configs import (
    CLIENTS,
    USERS,
    EntityConfigs,
    desanitized,
    sanitized,
)
from kafka_edu.zk.kafka_zk_client import KafkaZkClient

log = logging.getLogger(__name__)

USER, CLIENT_ID, IP = "user", "client-id", "ip"
ENTITY_TYPES: Final = (USER, CLIENT_ID, IP)
IPS: Final = "ips"
CLIENT_QUOTAS: Final[Mapping[str, ConfigType]] = {
    "consumer_byte_rate": ConfigType.LONG,
    "controller_mutation_rate": ConfigType.DOUBLE,
    "producer_byte_rate": ConfigType.LONG,
    "request_percentage": ConfigType.DOUBLE,
}
IP_QUOTAS: Final[Mapping[str, ConfigType]] = {"connection_creation_rate": ConfigType.INT}
_LIMITS: Final = {ConfigType.INT: MAX_INT, ConfigType.LONG: MAX_LONG}
#: The tolerance in the check that a quota is a whole number. Quotas arrive as floating-point
#: numbers.
_EPSILON: Final = 1e-6

QuotaEntity = frozenset[tuple[str, str | None]]
"""The type and the name of each part of an entity: (("user", "ann"), ("client-id", "shop")). The
name None stands for the default of the type.
"""


class MatchType(IntEnum):
    """How a filter selects entities, with the number of each kind in the protocol."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


class QuotaFilter(NamedTuple):
    """A condition that one part of an entity, such as its user, must meet."""

    entity_type: str
    match_type: int
    match: str | None


class QuotaOp(NamedTuple):
    key: str
    value: float | None
    """The new value of the quota. None removes the quota."""


class ClientQuotas:
    """Reads and changes the quotas in ZooKeeper. Only the broker's event loop may use it."""

    def __init__(self, zk: KafkaZkClient, configs: EntityConfigs) -> None:
        self._zk = zk
        self._configs = configs

    async def describe(
        self, filters: Sequence[QuotaFilter], strict: bool
    ) -> dict[QuotaEntity, dict[str, float]]:
        """Return the quotas of each entity that matches all filters. With `strict`, an entity must
        have no parts other than those in the filters. Raises KafkaException for a wrong filter.
        """
        wanted: dict[str, QuotaFilter] = {}
        for each in filters:
            _check_filter(each, wanted)
            wanted[each.entity_type] = each
        if IP in wanted and len(wanted) > 1:
            raise KafkaException(
                Errors.INVALID_REQUEST, "an entity with an address cannot have a user or a client"
            )
        found = {}
        for entity, configs in (await self._stored()).items():
            quotas = {
                key: number
                for key, text in configs.items()
                if _is_quota(key) and (number := _number(text)) is not None
            }
            if quotas and _matches(dict(entity), wanted, strict):
                found[entity] = quotas
        return found

    async def _stored(self) -> dict[QuotaEntity, dict[str, str]]:
        stored: dict[QuotaEntity, dict[str, str]] = {}
        for root, entity_type in ((USERS, USER), (CLIENTS, CLIENT_ID), (IPS, IP)):
            for name in await self._zk.get_entities(root):
                stored[
                    frozenset({(entity_type, _entity_name(name))})
                ] = await self._zk.get_entity_configs(root, name)
                if entity_type == USER:
                    for client in await self._zk.get_entities(f"{USERS}/{name}/{CLIENTS}"):
                        both = frozenset(
                            {(USER, _entity_name(name)), (CLIENT_ID, _entity_name(client))}
                        )
                        stored[both] = await self._zk.get_entity_configs(
                            USERS, f"{name}/{CLIENTS}/{client}"
                        )
        return stored

    async def alter(
        self, entries: Mapping[QuotaEntity, Iterable[QuotaOp]], validate_only: bool
    ) -> dict[QuotaEntity, tuple[Errors, str]]:
        """Change the quotas of each entity. Return each entity's error and message. An error of one
        entity does not affect the other entities.
        """
        results = {}
        for entity, ops in entries.items():
            try:
                await self._alter(dict(entity), ops, validate_only)
            except KafkaException as refused:
                results[entity] = (refused.error, refused.message)
            else:
                results[entity] = (Errors.NONE, "")
        return results

    async def _alter(
        self, entity: Mapping[str, str | None], ops: Iterable[QuotaOp], validate_only: bool
    ) -> None:
        root, name = _place(entity)
        allowed = IP_QUOTAS if root == IPS else CLIENT_QUOTAS
        changes: dict[str, str | None] = {}
        for key, value in ops:
            if value is None:
                changes[key] = None
            elif key in allowed:
                changes[key] = _text(key, allowed[key], value)
            elif set(entity) == {USER} and key in {mechanism.key for mechanism in ScramMechanism}:
                raise KafkaException(
                    Errors.UNKNOWN_SERVER_ERROR, f"{key} is a credential, not a quota"
                )  # the code is Kafka's
            else:
                raise KafkaException(
                    Errors.INVALID_REQUEST, f"{key} is not a quota of {' and '.join(entity)}"
                )
        if not validate_only:
            await self._configs.change(
                root, name, await self._zk.get_entity_configs(root, name), changes
            )
            if any(value is not None for value in changes.values()):
                log.warning(
                    "%s %s: %s have no effect yet, because %s",
                    root,
                    name,
                    ", ".join(sorted(changes)),
                    NO_QUOTAS,
                )


def _check_filter(wanted: QuotaFilter, before: Mapping[str, QuotaFilter]) -> None:
    if not wanted.entity_type:
        raise KafkaException(Errors.INVALID_REQUEST, "the type of an entity cannot be empty")
    if wanted.match_type not in set(MatchType) or (
        wanted.match_type == MatchType.EXACT and wanted.match is None
    ):
        raise KafkaException(Errors.UNKNOWN_SERVER_ERROR, _unmatched(wanted))  # the code is Kafka's
    if wanted.entity_type in before:
        raise KafkaException(Errors.INVALID_REQUEST, f"the filter names {wanted.entity_type} twice")
    if wanted.entity_type not in ENTITY_TYPES:
        raise KafkaException(
            Errors.UNSUPPORTED_VERSION, f"there are no quotas of {wanted.entity_type}"
        )


def _unmatched(wanted: QuotaFilter) -> str:
    if wanted.match_type == MatchType.EXACT:
        return (
            f"the filter of {wanted.entity_type} asks for an exact name and has none: name one, or"
            " ask for the default or for any"
        )
    known = ", ".join(f"{match_type.value} ({match_type.name.lower()})" for match_type in MatchType)
    return (
        f"the filter of {wanted.entity_type} has the match type {wanted.match_type}; there are"
        f" {known}"
    )


def _matches(
    entity: Mapping[str, str | None], wanted: Mapping[str, QuotaFilter], strict: bool
) -> bool:
    if not wanted.keys() <= entity.keys() or (strict and wanted.keys() != entity.keys()):
        return False
    for entity_type, (_, match_type, match) in wanted.items():
        name = entity[entity_type]
        if (match_type == MatchType.EXACT and name != match) or (
            match_type == MatchType.DEFAULT and name is not None
        ):
            return False
    return True


def _place(entity: Mapping[str, str | None]) -> tuple[str, str]:
    """Return the path of an entity's znode, in two parts: the folder, and the name below this
    folder. Raises KafkaException for an impossible combination of parts.
    """
    if not entity:
        raise KafkaException(Errors.INVALID_REQUEST, "an entity must have a type and a name")
    for entity_type, name in entity.items():
        if entity_type not in ENTITY_TYPES:
            raise KafkaException(Errors.INVALID_REQUEST, f"there are no quotas of {entity_type}")
        if name == "":
            raise KafkaException(
                Errors.INVALID_REQUEST, f"the name of a {entity_type} cannot be empty"
            )
    names = {
        entity_type: DEFAULT_ENTITY if name is None else sanitized(name)
        for entity_type, name in entity.items()
    }
    if IP in entity:
        if len(entity) > 1:
            raise KafkaException(
                Errors.INVALID_REQUEST, "an entity with an address cannot have a user or a client"
            )
        _check_address(entity[IP])
        return IPS, names[IP]
    if USER not in entity:
        return CLIENTS, names[CLIENT_ID]
    return USERS, (
        f"{names[USER]}/{CLIENTS}/{names[CLIENT_ID]}" if CLIENT_ID in entity else names[USER]
    )


def _check_address(name: str | None) -> None:
    if name is not None:
        try:
            ipaddress.ip_address(name)
        except ValueError:
            raise KafkaException(Errors.INVALID_REQUEST, f"{name} is not an address") from None


def _text(key: str, quota_type: ConfigType, value: float) -> str:
    """Return the quota's value as the text that is stored in ZooKeeper. If the type is a whole
    number, NaN becomes 0, as in Kafka.
    """
    if quota_type is ConfigType.DOUBLE:
        return double_text(value)
    limit = _LIMITS[quota_type]
    whole = (
        0
        if math.isnan(value)
        else limit
        if value >= limit
        else -limit
        if value <= -limit
        else int(value + _EPSILON)
    )
    if abs(whole - value) > _EPSILON:
        raise KafkaException(
            Errors.INVALID_REQUEST,
            f"{key} must be a whole number of type {quota_type}, not {value}",
        )
    return str(whole)


def _is_quota(key: str) -> bool:
    return key in CLIENT_QUOTAS or key in IP_QUOTAS


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _entity_name(name: str) -> str | None:
    return None if name == DEFAULT_ENTITY else desanitized(name)
