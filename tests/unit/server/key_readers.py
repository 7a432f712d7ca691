"""The configuration keys that the broker reads, found in its source.

A key counts as read if code outside the configuration's own modules uses its attribute of
KafkaConfig (or of LogConfig for a topic's key), or reads it by name, or if a part of the broker
gets it in its config tuple (ReplicationConfig and similar; `part_configs`). Code must also use each
field of these tuples (`unread_fields`). Code that only checks, describes or validates a value does
not count.
"""

import ast
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import kafka_edu
from kafka_edu.log.log_config import TOPIC_CONFIG
from kafka_edu.server.config.dynamic_broker_config import (
    TOPIC_CONFIG_SYNONYMS,
    broker_config_synonyms,
)
from kafka_edu.server.config.kafka_config import key_of
from kafka_edu.server.config.kafka_config_keys import CONFIG_DEF

ROOT: Final = Path(kafka_edu.__file__).parent
KAFKA_CONFIG, LOG_CONFIG = ROOT / "server/config/kafka_config.py", ROOT / "log/log_config.py"
#: Modules that define, check and describe keys. They do not count as readers.
OF_THE_CONFIGURATION: Final = {
    KAFKA_CONFIG,
    LOG_CONFIG,
    ROOT / "server/config/kafka_config_keys.py",
    ROOT / "server/config/config_gaps.py",
    ROOT / "server/admin/config_helper.py",
    ROOT / "server/config/config_page.py",
    ROOT / "server/config/dynamic_broker_config.py",
    ROOT / "server/config/settings_check.py",
    ROOT / "common/config_def.py",
}
NO_PART_OF_A_BROKER: Final = ("cli", "sim", "spark", "clients", "trace", "zk/embedded")
#: The names of a KafkaConfig or LogConfig where it is used.
CONFIG_NAMES: Final = {"config", "_config", "settings", "static", "current"}
#: Calls that only name a key in a message.
TELLS: Final = {"ConfigException", "_refuse", "_end_points", "_end_point", "_protocol_map"}
#: Tuples that pass settings on.
HANDED_ON: Final = {
    "CleanerConfig": "log/cleaner/log_cleaner.py",
    "ReplicationConfig": "replication/replication_config.py",
    "ControllerConfig": "controller/active_controller.py",
    "TransactionConfig": "coordinator/transaction/transaction_state_manager.py",
    "GroupConfig": "coordinator/group/group_config.py",
    "OffsetConfig": "coordinator/group/group_config.py",
    "ConnectionLimits": "network/connection_quotas.py",
    "NetworkConfig": "network/socket_server.py",
    "TopicDefaults": "server/admin/admin_manager.py",
}


@functools.cache
def modules() -> tuple[tuple[Path, ast.Module], ...]:
    """Return the parsed modules of kafka_edu. The tools and the simulator are left out, because the
    keys that they read are not read by a broker.
    """
    paths = [
        path
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).parts[0] not in NO_PART_OF_A_BROKER
    ]
    return tuple((path, ast.parse(path.read_text(encoding="utf-8"))) for path in paths)


def _name(node: ast.expr) -> str:
    """Return the last name of `a.b.c`, or of a call to it."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Call):
        return _name(node.func)
    return node.id if isinstance(node, ast.Name) else ""


def _keys_and_names(node: ast.AST) -> tuple[set[str], set[str]]:
    """Return the keys that the code names in order to read them, and the attributes of `self` that
    it uses.
    """
    keys: set[str] = set()
    names: set[str] = set()
    if isinstance(node, ast.Call) and _name(node.func) in TELLS:
        told = [
            arg
            for arg in node.args
            if not (isinstance(arg, ast.Constant) and arg.value in CONFIG_DEF)
        ]
        children: list[ast.AST] = [*told, *node.keywords]
        if _name(node.func) not in ("ConfigException", "_refuse"):
            names.add(_name(node.func))
    else:
        children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
        return keys, names  # whether it is set is not a value
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in CONFIG_DEF:
        keys.add(node.value)
    if (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    ):
        names.add(node.attr)
    for child in children:
        more_keys, more_names = _keys_and_names(child)
        keys |= more_keys
        names |= more_names
    return keys, names


@functools.cache
def kafka_config_attributes() -> Mapping[str, frozenset[str]]:
    """Return attribute of KafkaConfig -> the keys from which it comes, directly or through other
    attributes.
    """
    module = ast.parse(KAFKA_CONFIG.read_text(encoding="utf-8"))
    functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    (config,) = (
        node
        for node in module.body
        if isinstance(node, ast.ClassDef) and node.name == "KafkaConfig"
    )
    keys: dict[str, set[str]] = {}
    uses: dict[str, set[str]] = {}
    for node in config.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name = _name(node.targets[0])
            given = [arg.value for arg in node.value.args if isinstance(arg, ast.Constant)]
            keys[name] = {str(given[0]) if given else key_of(name)}
        elif isinstance(node, ast.FunctionDef) and node.name == "__init__":
            for line in node.body:
                targets = (
                    line.targets
                    if isinstance(line, ast.Assign)
                    else [line.target]
                    if isinstance(line, ast.AnnAssign)
                    else []
                )
                for target in targets:
                    keys[_name(target)], uses[_name(target)] = _keys_and_names(line)
                    uses[_name(target)] |= {
                        _name(call.func) for call in ast.walk(line) if isinstance(call, ast.Call)
                    }
        elif isinstance(node, ast.FunctionDef) and node.name not in (
            "_check",
            "_refuse",
            "topic_defaults",
        ):
            keys[node.name], uses[node.name] = _keys_and_names(node)
    for name, function in functions.items():
        if name == "_connection_limits":
            keys[name], uses[name] = _keys_and_names(function)

    def all_keys(name: str, seen: frozenset[str]) -> frozenset[str]:
        if name in seen:
            return frozenset()
        found = frozenset(keys.get(name, ()))
        return found.union(*(all_keys(used, seen | {name}) for used in uses.get(name, ())))

    return {name: all_keys(name, frozenset()) for name in keys}


def log_config_attributes() -> Mapping[str, str]:
    """Return attribute of LogConfig -> the topic's key."""
    found: dict[str, str] = {}
    module = ast.parse(LOG_CONFIG.read_text(encoding="utf-8"))
    for call in ast.walk(module):
        if isinstance(call, ast.Call) and _name(call.func) == "LogConfig":
            for keyword in call.keywords:
                for node in ast.walk(keyword.value):
                    if (
                        isinstance(node, ast.Constant)
                        and node.value in TOPIC_CONFIG
                        and keyword.arg is not None
                    ):
                        found[keyword.arg] = str(node.value)
                    if (
                        isinstance(node, ast.Name)
                        and node.id == "policy"
                        and keyword.arg is not None
                    ):
                        found[keyword.arg] = "cleanup.policy"
    return found


@functools.cache
def attributes_used() -> frozenset[tuple[str, str]]:
    """Return (name before the dot, attribute) for each attribute that code outside the
    configuration's modules reads.
    """
    return frozenset(
        (_name(node.value), node.attr)
        for path, module in modules()
        if path not in OF_THE_CONFIGURATION
        for node in ast.walk(module)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    )


def read_by_name() -> set[str]:
    """Return the keys read by name outside the configuration's modules.

    For example `values.get_int("offsets.load.buffer.size")`.
    """
    found: set[str] = set()
    for path, module in modules():
        if path in OF_THE_CONFIGURATION:
            continue
        for call in ast.walk(module):
            if isinstance(call, ast.Call) and _name(call.func).startswith("get_") and call.args:
                first = call.args[0]
                if isinstance(first, ast.Constant) and first.value in CONFIG_DEF:
                    found.add(str(first.value))
    return found


def keys_read() -> tuple[set[str], set[str]]:
    """Return the broker's keys and the topics' keys that the broker reads."""
    of_log, of_broker = log_config_attributes(), kafka_config_attributes()
    topic, broker = set[str](), read_by_name().union(*part_fields().values())
    for base, attribute in attributes_used():
        distinctive = "_" in attribute
        if attribute in of_log and (distinctive or base in CONFIG_NAMES):
            topic.add(of_log[attribute])
        if attribute in of_broker and base in CONFIG_NAMES:
            broker |= of_broker[attribute]
    for topic_key, broker_key in TOPIC_CONFIG_SYNONYMS.items():
        if topic_key in topic:
            broker |= set(broker_config_synonyms(broker_key))
    return broker, topic


@functools.cache
def part_fields() -> Mapping[str, frozenset[str]]:
    """Return field of a part's tuple -> its keys.

    These are the keys of the KafkaConfig property with the field's name. Without such a property,
    it is the key with the field's name. Fields without a key are left out.
    """
    of_broker = kafka_config_attributes()
    found: dict[str, frozenset[str]] = {}
    for name, path in HANDED_ON.items():
        for field in _fields(name, path):
            if field in of_broker:
                found[field] = of_broker[field]
            elif {key := field.replace("_", "."), f"edu.{key}"} & set(CONFIG_DEF.keys):
                found[field] = frozenset({key_of(field)})
    return found


def _fields(name: str, path: str) -> list[str]:
    """Return the fields of that class in that module."""
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return [_name(line.target) for line in node.body if isinstance(line, ast.AnnAssign)]
    raise AssertionError(f"there is no {name} in {path}")


def unread_fields() -> set[str]:
    """Return the fields of HANDED_ON's tuples that no code uses. Their settings have no effect."""
    used = {attribute for _, attribute in attributes_used()}
    return {
        f"{name}.{field}"
        for name, path in HANDED_ON.items()
        for field in _fields(name, path)
        if field not in used
    }
