"""The entities of the tool `configs`, whose configs it shows and changes.

An entity is a topic, a broker, a client id, a user, or a client id of a user. Each entity has a
path below /config in ZooKeeper. Each type has a default entity, `<default>`. Names of users and
client ids are URL-encoded in the path, so that a slash in a name does not separate parts of the
path: `CN=web,O=a/b` becomes `CN%3Dweb%2CO%3Da%2Fb`. (Kafka: ConfigCommand.scala)
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_edu.server.config.dynamic_broker_config import DEFAULT_ENTITY
from kafka_edu.server.config.entity_configs import desanitized, sanitized
from kafka_edu.tools.tool import illegal_argument
from kafka_edu.zk.kafka_zk_client import KafkaZkClient

TOPICS: Final = "topics"
BROKERS: Final = "brokers"
CLIENTS: Final = "clients"
USERS: Final = "users"
ENTITY_TYPES: Final = (TOPICS, CLIENTS, USERS, BROKERS)
_SINGULAR: Final = {
    USERS: "user-principal",
    CLIENTS: "client-id",
    TOPICS: "topic",
    BROKERS: "brokers",
}


class Entity(NamedTuple):
    """The type and name of an entity. `name` is encoded. None means all entities of the type."""

    type: str
    name: str | None

    @property
    def path(self) -> str:
        return self.type if self.name is None else f"{self.type}/{self.name}"

    def __str__(self) -> str:
        kind = _SINGULAR[self.type]
        if self.name is None:
            return self.type
        if self.name == DEFAULT_ENTITY:
            return f"default {kind}"
        return f"{kind} '{desanitized(self.name) if self.type in (USERS, CLIENTS) else self.name}'"


class ConfigEntity(NamedTuple):
    """The entity named on the command line: `root`, and for a user's client id also `child`."""

    root: Entity
    child: Entity | None = None

    @property
    def full_name(self) -> str:
        """Return the entity's path below /config/<type of the first entity>."""
        return (self.root.name or "") + (f"/{self.child.path}" if self.child else "")

    def __str__(self) -> str:
        return f"{self.root}{f', {self.child}' if self.child else ''}"

    async def all(self, zk: KafkaZkClient) -> list["ConfigEntity"]:
        """Return this entity, or all existing entities of its type if it has no name."""
        if self.root.name is None:
            roots = [
                self._replace(root=Entity(self.root.type, name))
                for name in await zk.get_entities(self.root.type)
            ]
            if self.child is None:
                return roots
            return [
                entity
                for root in roots
                for entity in await root._replace(child=Entity(self.child.type, None)).all(zk)
            ]
        if self.child is None or self.child.name is not None:
            return [self]
        names = await zk.get_entities(f"{self.root.path}/{self.child.type}")
        return [self._replace(child=Entity(self.child.type, name)) for name in names]


def parse_entity(types: Sequence[str], names: Sequence[str], *, is_alter: bool) -> ConfigEntity:
    """Parse the entity on the command line. Raises ToolError.

    `names` has the values of --entity-name in their order, with "" for each --entity-default.
    """
    if types[0] not in (USERS, CLIENTS):
        name = names[0] if names else None
        return ConfigEntity(
            Entity(types[0], DEFAULT_ENTITY if name == "" and types[0] == BROKERS else name or None)
        )
    if is_alter and len(names) != len(types):
        raise illegal_argument(
            "--entity-name or --entity-default must be specified with each --entity-type for"
            " --alter"
        )
    reverse = len(types) == 2 and types[0] == CLIENTS
    ordered_types = list(reversed(types)) if reverse else list(types)
    ordered_names = list(reversed(names)) if reverse and len(names) == 2 else list(names)
    entities = [
        Entity(
            kind,
            (
                None
                if number >= len(ordered_names)
                else sanitized(ordered_names[number]) or DEFAULT_ENTITY
            ),
        )
        for number, kind in enumerate(ordered_types)
    ]
    return ConfigEntity(entities[0], entities[1] if len(entities) > 1 else None)
