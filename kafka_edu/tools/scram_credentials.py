"""Turn a user's password into the form that is stored in ZooKeeper, for the tool `configs`.

(Kafka: ConfigCommand.preProcessScramCredentials; RFC 5802; KIP-84)
"""

import hashlib
import re
import secrets
from collections.abc import Mapping
from typing import Final

from kafka_edu.server.admin.user_scram_manager import (
    MIN_ITERATIONS,
    ScramMechanism,
    ScramUpsertion,
    stored_credential,
)
from kafka_edu.tools.tool import illegal_argument

_GIVEN: Final = re.compile(r"(?:iterations=([0-9]*),)?password=(.*)")
_SALT_BYTES: Final = 20


def with_scram_credentials(user: str, configs: Mapping[str, str]) -> dict[str, str]:
    """Return `configs` with each `iterations=8192,password=…` turned into its stored form.

    Raises ToolError(IllegalArgumentException).
    """
    result = dict(configs)
    for mechanism in ScramMechanism:
        given = configs.get(mechanism.key)
        if given is None:
            continue
        found = _GIVEN.fullmatch(given)
        if found is None:
            raise illegal_argument(f"Invalid credential property {mechanism.key}={given}")
        iterations = int(found[1] or MIN_ITERATIONS)
        if iterations < MIN_ITERATIONS:
            raise illegal_argument(
                f"Iterations {iterations} is less than the minimum {MIN_ITERATIONS} required for"
                f" {mechanism.key}"
            )
        salt = secrets.token_bytes(_SALT_BYTES)
        salted = hashlib.pbkdf2_hmac(mechanism.hash_name, found[2].encode(), salt, iterations)
        result[mechanism.key] = stored_credential(
            mechanism, ScramUpsertion(user, mechanism, iterations, salt, salted)
        )
    return result
