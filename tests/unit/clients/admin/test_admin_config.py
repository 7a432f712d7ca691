"""The settings of our admin client: each key has an effect, or is refused with one line."""

import ast
import re
from pathlib import Path

import pytest

import kafka_edu.clients.admin
from kafka_edu.clients.admin.admin_config import (
    ADMIN_CONFIG,
    AdminConfig,
    parse_admin_config,
    setting_rows,
)
from kafka_edu.clients.client_config import REFUSED_BY_ALL
from kafka_edu.common.config_def import ConfigException
from tests.golden.client_keys.record import KafkaClient, KafkaKey, recorded

SERVERS = {"bootstrap.servers": "a:1,b:2"}
ROOT = Path(__file__).parents[4]


def parsed(**settings: object) -> AdminConfig:
    given = {key.replace("_", "."): value for key, value in settings.items()}
    return parse_admin_config(SERVERS | given, 4)


def test_the_defaults_are_those_of_kafka_2_8() -> None:
    config = parsed()
    assert config.bootstrap_servers == (("a", 1), ("b", 2))
    assert config.client_id == "adminclient-4"
    assert (config.default_api_timeout_ms, config.request_timeout_ms) == (60_000, 30_000)
    assert parsed(client_id="mine").client_id == "mine"


def test_a_call_may_not_be_shorter_than_a_request() -> None:
    with pytest.raises(ConfigException, match=r"which is 30000\. Raise it, or lower the other"):
        parsed(default_api_timeout_ms=29_999)
    assert parsed(request_timeout_ms=70_000).default_api_timeout_ms == 70_000


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"retry_backof_ms": 1}, "An admin client has no setting retry.backof.ms. Did you mean"),
        ({"wxyz": 1}, "An admin client has no setting wxyz. docs/admin.md has all keys."),
        ({"retries": -1}, "retries"),
        ({"bootstrap_servers": "nowhere"}, "nowhere"),
    ],
)
def test_a_wrong_setting_is_one_line(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigException, match=re.escape(message)) as error:
        parsed(**settings)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "kafka_key",
    [key for key in recorded(KafkaClient.ADMIN) if key.name != "bootstrap.servers"],
    ids=str,
)
def test_each_setting_of_kafka_has_its_type_and_default_here_or_is_refused(
    kafka_key: KafkaKey,
) -> None:
    name = kafka_key.name
    if name in ADMIN_CONFIG:
        key = ADMIN_CONFIG.keys[name]
        assert (key.type.name, str(key.default)) == (kafka_key.type, kafka_key.default)
        return
    with pytest.raises(ConfigException, match=f"^{name} is refused, because"):
        parse_admin_config({**SERVERS, name: "x"}, 1)


def test_each_setting_of_ours_is_one_of_kafka() -> None:
    assert set(ADMIN_CONFIG.keys) <= {key.name for key in recorded(KafkaClient.ADMIN)}


def test_each_setting_is_read_by_the_client() -> None:
    """Every field of AdminConfig is used outside of the module that parses it."""
    folder = Path(str(kafka_edu.clients.admin.__file__)).parent
    used = {
        node.attr
        for path in folder.glob("*.py")
        if path.name != "admin_config.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    assert set(AdminConfig._fields) <= used


def test_the_page_lists_every_setting() -> None:
    page = (ROOT / "docs" / "admin.md").read_text(encoding="utf-8")
    for name, default, doc in setting_rows():
        assert f"| `{name}` | {default} | {doc} |" in page
    for name, why in REFUSED_BY_ALL.items():
        shown = f"{name}*" if name.endswith(".") else name
        assert f"| `{shown}` | {why} |" in page
