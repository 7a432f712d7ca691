"""The default of a key is written in one place only: the table of keys.

Settings travel from KafkaConfig through small tuples into the parts of the broker. If a field or a
parameter on this way had its own default, there would be two places, and they could differ. These
tests find such defaults in the source.
"""

import ast
import functools
from collections.abc import Iterator
from types import UnionType
from typing import get_args, get_origin, get_type_hints

from kafka_edu.log.log_config import TOPIC_CONFIG
from kafka_edu.server.config.kafka_config import TOPIC_KEYS
from kafka_edu.server.config.kafka_config_keys import CONFIG_DEF
from kafka_edu.server.config.part_configs import (
    controller_config,
    group_config,
    network_config,
    offset_config,
    replication_config,
    transaction_config,
)
from tests.defaults import BROKER_DEFAULTS
from tests.unit.server.key_readers import (
    CONFIG_NAMES,
    HANDED_ON,
    ROOT,
    kafka_config_attributes,
    modules,
    part_fields,
)


def last_name(node: ast.expr) -> str:
    """Return the last name of `a.b.c`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def fields(node: ast.ClassDef) -> list[ast.AnnAssign]:
    return [
        line
        for line in node.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    ]


def is_record(node: ast.ClassDef) -> bool:
    """Return whether the class is a NamedTuple or a dataclass."""
    return any(last_name(base) == "NamedTuple" for base in node.bases) or any(
        "dataclass" in ast.unparse(decorator) for decorator in node.decorator_list
    )


def of_function(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, bool]:
    """Return parameter -> whether it has a default; `self` is left out."""
    args = function.args
    positional = [*args.posonlyargs, *args.args]
    required = len(positional) - len(args.defaults)
    found = {arg.arg: place >= required for place, arg in enumerate(positional)}
    found |= {
        arg.arg: default is not None
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    }
    return {name: has for name, has in found.items() if name != "self"}


@functools.cache
def receivers() -> dict[str, dict[str, bool]]:
    """Return name of a class or function -> its parameters, and whether each has a default.

    Names that are defined more than once are left out.
    """
    found: dict[str, list[dict[str, bool]]] = {}
    for _, module in modules():
        for node in module.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.setdefault(node.name, []).append(of_function(node))
            elif isinstance(node, ast.ClassDef) and is_record(node):
                taken = {last_name(f.target): f.value is not None for f in fields(node)}
                found.setdefault(node.name, []).append(taken)
            elif isinstance(node, ast.ClassDef):
                for line in node.body:
                    if isinstance(line, ast.FunctionDef) and line.name == "__init__":
                        found.setdefault(node.name, []).append(of_function(line))
    return {name: several[0] for name, several in found.items() if len(several) == 1}


def reads_a_key(node: ast.expr) -> bool:
    """Return whether the expression is `config.num_io_threads` or `values.get_int("a.key")`."""
    if isinstance(node, ast.Attribute):
        return (
            node.attr in {*kafka_config_attributes(), *part_fields()}
            and "_" in node.attr
            and last_name(node.value) in CONFIG_NAMES
        )
    return (
        isinstance(node, ast.Call)
        and last_name(node.func).startswith("get_")
        and any(isinstance(arg, ast.Constant) and arg.value in CONFIG_DEF for arg in node.args)
    )


def second_defaults(module: ast.Module) -> Iterator[str]:
    """Yield each place where the value of a key is handed to a parameter that has a default."""
    for call in ast.walk(module):
        if not isinstance(call, ast.Call):
            continue
        taken = receivers().get(last_name(call.func))
        if taken is None or any(isinstance(arg, ast.Starred) for arg in call.args):
            continue
        given = [
            *zip(taken, call.args, strict=False),
            *((keyword.arg or "", keyword.value) for keyword in call.keywords),
        ]
        for parameter, value in given:
            if reads_a_key(value) and taken.get(parameter, False):
                yield f"{last_name(call.func)}({parameter}=…) gets {ast.unparse(value)}"


def test_the_tuples_that_hand_settings_on_have_no_defaults() -> None:
    found = [
        f"{name}.{last_name(field.target)} = {ast.unparse(field.value)}"
        for name, path in HANDED_ON.items()
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and node.name == name
        for field in fields(node)
        if field.value is not None
    ]
    assert not found, f"defaults belong into server/config/kafka_config_keys.py: {found}"


def test_every_tuple_that_the_part_configs_make_is_known() -> None:
    """So `HANDED_ON` is complete, and the test above sees each of these tuples."""
    module = ast.parse((ROOT / "server/config/part_configs.py").read_text(encoding="utf-8"))
    made = {
        last_name(node.returns)
        for node in module.body
        if isinstance(node, ast.FunctionDef) and node.returns is not None and node.name != "_part"
    }
    assert made
    assert made <= set(HANDED_ON)


def test_each_part_gets_values_of_the_types_that_its_tuple_names() -> None:
    """The values are looked up by name, so the type checker does not check them."""
    parts = (
        network_config(BROKER_DEFAULTS),
        replication_config(BROKER_DEFAULTS, 3),
        controller_config(BROKER_DEFAULTS),
        group_config(BROKER_DEFAULTS),
        offset_config(BROKER_DEFAULTS),
        transaction_config(BROKER_DEFAULTS),
    )
    for part in parts:
        for field, wanted in get_type_hints(type(part)).items():
            value = getattr(part, field)
            kinds = get_args(wanted) if isinstance(wanted, UnionType) else (wanted,)
            assert type(value) in [get_origin(kind) or kind for kind in kinds], (
                type(part).__name__,
                field,
                value,
            )


def test_no_part_of_the_broker_has_a_default_for_a_key_that_it_is_given() -> None:
    found = sorted(place for _, module in modules() for place in second_defaults(module))
    assert not found, f"defaults belong into server/config/kafka_config_keys.py: {found}"


def test_a_second_default_is_found() -> None:
    """The search finds the value of a key by keyword, by position and by the key's name."""
    receivers()["Part"] = {"zk": False, "threads": True, "broker": False}
    try:
        for call, finds in (
            ("Part(zk, threads=config.num_io_threads)", 1),
            ("Part(zk, self._config.num_io_threads)", 1),
            ("Part(zk, values.get_int('num.io.threads'))", 1),
            ("Part(zk, 3, config.broker_id)", 0),
            ("Part(zk, 3)", 0),
        ):
            assert len(list(second_defaults(ast.parse(call)))) == finds, call
    finally:
        del receivers()["Part"]


def test_a_topic_and_a_broker_that_set_nothing_agree() -> None:
    """The broker's key takes its default from the topic's table."""
    for topic_key, broker_key in TOPIC_KEYS.items():
        assert CONFIG_DEF.keys[broker_key].default == TOPIC_CONFIG.keys[topic_key].default
