"""Hide the secrets of a message before its bytes are stored.

Secrets are the bytes of SASL messages, SCRAM credentials, the HMACs of delegation tokens, and the
values of some configs, such as passwords. Each byte of a secret is replaced with `*`, so that all
other bytes keep their positions. If a message cannot be decoded, its whole body is replaced.
"""

from collections.abc import Mapping
from typing import Final

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Struct
from kafka_edu.protocol.types import ProtocolError

#: API → the names of the secret fields, at any depth of its request and response.
SECRET_FIELDS: Final[Mapping[ApiKey, frozenset[str]]] = {
    ApiKey.SASL_AUTHENTICATE: frozenset({"auth_bytes"}),
    ApiKey.CREATE_DELEGATION_TOKEN: frozenset({"hmac"}),
    ApiKey.RENEW_DELEGATION_TOKEN: frozenset({"hmac"}),
    ApiKey.EXPIRE_DELEGATION_TOKEN: frozenset({"hmac"}),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: frozenset({"hmac"}),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: frozenset({"salt", "salted_password"}),
    ApiKey.DESCRIBE_CONFIGS: frozenset({"value"}),
    ApiKey.ALTER_CONFIGS: frozenset({"value"}),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: frozenset({"value"}),
    ApiKey.CREATE_TOPICS: frozenset({"value"}),
}
#: The APIs in which the name of a config decides whether its `value` is secret.
_CONFIG_APIS: Final = frozenset(
    {
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.CREATE_TOPICS,
    }
)
_SECRET_WORDS: Final = (
    "password",
    "secret",
    "jaas",
    "token",
    "credential",
    "ssl.keystore.",
    "ssl.truststore.",
)


def is_secret_config(name: str) -> bool:
    """Return whether the value of the config with this name is secret."""
    return any(word in name.lower() for word in _SECRET_WORDS)


def without_secrets(
    key: ApiKey, version: int, frame: bytes, body_offset: int, *, is_response: bool
) -> tuple[bytes, tuple[str, ...]]:
    """Return the frame with its secrets replaced with `*`, and the names of the replaced fields."""
    secret = SECRET_FIELDS.get(key)
    if secret is None:
        return frame, ()
    pair = REGISTRY[key]
    message = pair.response if is_response else pair.request
    try:
        if not message.VALID.has(version):
            raise ProtocolError("a version that we do not know")
        read = message.decode(frame, version, body_offset)
        hidden = _hide(read, secret, in_config=key in _CONFIG_APIS)
        if not hidden:
            return frame, ()
        body = read.encode(version)
    except ProtocolError:
        return _all_hidden(frame, body_offset)
    if len(body) != len(frame) - body_offset:  # unknown tagged fields, or bytes after the end
        return _all_hidden(frame, body_offset)
    return frame[:body_offset] + body, tuple(sorted(hidden))


def _all_hidden(frame: bytes, body_offset: int) -> tuple[bytes, tuple[str, ...]]:
    return frame[:body_offset] + b"*" * (len(frame) - body_offset), ("body",)


def _hide(struct: Struct, secret: frozenset[str], *, in_config: bool) -> set[str]:
    """Replace the secrets in `struct` and in all structs below it. Return the names of the
    fields.
    """
    hidden: set[str] = set()
    for field in type(struct).FIELDS:
        value = getattr(struct, field.name)
        if isinstance(value, Struct):
            hidden |= _hide(value, secret, in_config=in_config)
        elif isinstance(value, list):
            for element in value:
                if isinstance(element, Struct):
                    hidden |= _hide(element, secret, in_config=in_config)
        elif field.name in secret and value:
            if in_config and not is_secret_config(str(getattr(struct, "name", ""))):
                continue
            stars = len(value.encode()) if isinstance(value, str) else len(value)
            setattr(struct, field.name, "*" * stars if isinstance(value, str) else b"*" * stars)
            hidden.add(field.name)
    return hidden
