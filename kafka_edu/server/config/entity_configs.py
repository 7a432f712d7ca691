"""Change configs of users, clients and addresses in ZooKeeper, below /config. Their names are
percent-encoded for ZooKeeper (Kafka: AdminZkClient.scala, Sanitizer.java).
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote

from kafka_edu.trace.events.server import EntityConfigWritten
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.kafka_zk_client import KafkaZkClient

#: The folders of /config in ZooKeeper that hold each type of entity.
CLIENTS: Final = "clients"
USERS: Final = "users"


def sanitized(name: str) -> str:
    """Return a name in a form that is allowed in a ZooKeeper path. All characters except letters,
    digits and `.`, `-`, `_` are percent-encoded: `a b*~` → `a%20b%2A%7E`.
    """
    return quote(name, safe="").replace("~", "%7E")


def desanitized(name: str) -> str:
    return unquote(name)


class EntityConfigs:
    """Writes configs of users, clients and addresses, and notifies all brokers of each change."""

    def __init__(self, zk: KafkaZkClient, trace: Tracer | None) -> None:
        self._zk = zk
        self._trace = trace

    async def change(
        self,
        entity_type: str,
        name: str,
        before: Mapping[str, str],
        changes: Mapping[str, str | None],
    ) -> None:
        """Write the configs `before` after applying `changes` to them, then write the notification.
        The value None in `changes` removes a key.
        """
        after = {key: value for key, value in {**before, **changes}.items() if value is not None}
        await self._zk.set_or_create_entity_configs(entity_type, name, after)
        await self._zk.create_config_change_notification(f"{entity_type}/{name}")
        if self._trace:
            self._trace(
                EntityConfigWritten(
                    entity=f"{entity_type}/{name}",
                    configs=tuple(
                        (key, _shown(key, value)) for key, value in sorted(after.items())
                    ),
                )
            )


def _shown(key: str, value: str) -> str:
    """Return the value in the form in which events show it. Credentials are hidden."""
    return "[hidden]" if key.startswith("SCRAM-") else value
