"""Where the configs of each kind of entity lie, and under which name."""

import pytest

from kafka_edu.server.config.entity_configs import sanitized
from kafka_edu.tools.config_entity import ConfigEntity, parse_entity
from kafka_edu.tools.tool import ToolError


@pytest.mark.parametrize(
    ("types", "names", "path", "shown"),
    [
        (["topics"], ["web"], "web", "topic 'web'"),
        (["brokers"], [""], "<default>", "default brokers"),
        (["brokers"], ["0"], "0", "brokers '0'"),
        (["clients"], ["a/b"], "a%2Fb", "client-id 'a/b'"),
        (["users"], [""], "<default>", "default user-principal"),
        (
            ["users", "clients"],
            ["alice", "app"],
            "alice/clients/app",
            "user-principal 'alice', client-id 'app'",
        ),
        (
            ["clients", "users"],
            ["app", "alice"],
            "alice/clients/app",
            "user-principal 'alice', client-id 'app'",
        ),
        (
            ["users", "clients"],
            ["", ""],
            "<default>/clients/<default>",
            "default user-principal, default client-id",
        ),
        (["users", "clients"], ["alice"], "alice/clients", "user-principal 'alice', clients"),
        (["topics"], [], "", "topics"),
    ],
)
def test_an_entity_has_a_path_and_a_name(
    types: list[str], names: list[str], path: str, shown: str
) -> None:
    entity: ConfigEntity = parse_entity(types, names, is_alter=False)
    assert (entity.full_name, str(entity)) == (path, shown)


def test_to_alter_all_names_must_be_there() -> None:
    with pytest.raises(ToolError, match="must be specified with each --entity-type for --alter"):
        parse_entity(["users", "clients"], ["alice"], is_alter=True)


def test_names_are_written_as_in_a_url() -> None:
    assert sanitized("CN=web,O=a/b ~*+") == "CN%3Dweb%2CO%3Da%2Fb%20%7E%2A%2B"
