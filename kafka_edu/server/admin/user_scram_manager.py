"""Read and write the SCRAM credentials of users in ZooKeeper (Kafka:
ZkAdminManager.describeUserScramCredentials, alterUserScramCredentials; KIP-554, RFC 5802).

A credential is one config in the znode /config/users/<user>. Its key is the mechanism's name:

    SCRAM-SHA-256   salt=…,stored_key=…,server_key=…,iterations=4096        (base64)

The password itself is never sent. The client sends the salt and the *salted password*, which is the
password hashed many times. The broker derives two keys from the salted password and stores them.
With the stored key the broker checks the identity of a client. With the server key the broker
proves its own identity to a client. A thief who has these keys can pretend to be the broker, but
not the client. This broker stores credentials, but it has no SASL yet.
"""

import base64
import hashlib
import hmac
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.server.config.config_gaps import NO_SASL
from kafka_edu.server.config.entity_configs import USERS, EntityConfigs, desanitized, sanitized
from kafka_edu.zk.kafka_zk_client import KafkaZkClient

log = logging.getLogger(__name__)

MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16384


class ScramMechanism(IntEnum):
    """The SCRAM mechanisms, with their numbers in the protocol."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def key(self) -> str:
        """The config key of a credential: the mechanism's name, for example SCRAM-SHA-256."""
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        return self.name.removeprefix("SCRAM_").replace("_", "").lower()


class ScramDeletion(NamedTuple):
    user: str
    mechanism: int


class ScramUpsertion(NamedTuple):
    user: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


class UserScram(NamedTuple):
    """The result of DescribeUserScramCredentials for one user."""

    error: Errors
    message: str
    iterations: Mapping[ScramMechanism, int]


def stored_credential(mechanism: ScramMechanism, upsertion: ScramUpsertion) -> str:
    """Return the credential as text for ZooKeeper. It contains the StoredKey and the ServerKey of
    RFC 5802.
    """

    def keyed(text: bytes) -> bytes:
        return hmac.digest(upsertion.salted_password, text, mechanism.hash_name)

    def shown(data: bytes) -> str:
        return base64.b64encode(data).decode()

    stored_key = hashlib.new(mechanism.hash_name, keyed(b"Client Key")).digest()
    server_key = keyed(b"Server Key")
    return (
        f"salt={shown(upsertion.salt)},stored_key={shown(stored_key)},"
        f"server_key={shown(server_key)},iterations={upsertion.iterations}"
    )


class UserScramManager:
    """Reads and changes SCRAM credentials in ZooKeeper. Only the broker's event loop may use it."""

    def __init__(self, zk: KafkaZkClient, configs: EntityConfigs) -> None:
        self._zk = zk
        self._configs = configs

    async def describe(self, users: Sequence[str] | None) -> dict[str, UserScram]:
        """Return the mechanisms and iterations of each user's credentials. If `users` is None,
        return all users that have credentials. A user's error may be RESOURCE_NOT_FOUND or
        DUPLICATE_RESOURCE.
        """
        if not users:
            stored = {
                name: await self._mechanisms(name) for name in await self._zk.get_entities(USERS)
            }
            return {
                desanitized(name): UserScram(Errors.NONE, "", found)
                for name, found in stored.items()
                if found
            }
        results = {}
        for user, count in Counter(users).items():
            found = await self._mechanisms(sanitized(user)) if user else {}
            if count > 1:
                results[user] = UserScram(
                    Errors.DUPLICATE_RESOURCE, "the request names this user twice", {}
                )
            elif not found:
                results[user] = UserScram(
                    Errors.RESOURCE_NOT_FOUND, "this user has no credentials", {}
                )
            else:
                results[user] = UserScram(Errors.NONE, "", found)
        return results

    async def _mechanisms(self, name: str) -> dict[ScramMechanism, int]:
        stored = await self._zk.get_entity_configs(USERS, name)
        return {
            mechanism: _iterations(stored[mechanism.key])
            for mechanism in ScramMechanism
            if mechanism.key in stored
        }

    async def alter(
        self, deletions: Iterable[ScramDeletion], upsertions: Iterable[ScramUpsertion]
    ) -> dict[str, tuple[Errors, str]]:
        """Delete and write credentials. Return each user's error and message. If one change of a
        user has an error, none of this user's changes is made. Other users are not affected.

        The errors are UNACCEPTABLE_CREDENTIAL, UNSUPPORTED_SASL_MECHANISM, DUPLICATE_RESOURCE if a
        credential is named twice, and RESOURCE_NOT_FOUND if there is no credential to delete.
        """
        to_delete, to_write = list(deletions), list(upsertions)
        named = [(d.user, d.mechanism) for d in to_delete] + [
            (u.user, u.mechanism) for u in to_write
        ]
        counts = Counter(named)
        results: dict[str, tuple[Errors, str]] = {}
        for user in dict.fromkeys(user for user, _ in named):
            try:
                if any(count > 1 for (name, _), count in counts.items() if name == user):
                    raise KafkaException(
                        Errors.DUPLICATE_RESOURCE, "one credential cannot be altered twice"
                    )
                await self._alter_user(
                    user,
                    [d for d in to_delete if d.user == user],
                    [u for u in to_write if u.user == user],
                )
            except KafkaException as refused:
                results[user] = (refused.error, refused.message)
            else:
                results[user] = (Errors.NONE, "")
        return results

    async def _alter_user(
        self, user: str, deletions: Sequence[ScramDeletion], upsertions: Sequence[ScramUpsertion]
    ) -> None:
        changes: dict[str, str | None] = {
            _mechanism(user, deletion.mechanism).key: None for deletion in deletions
        }
        for upsertion in upsertions:
            mechanism = _mechanism(user, upsertion.mechanism)
            _check(upsertion)
            changes[mechanism.key] = stored_credential(mechanism, upsertion)
        stored = await self._zk.get_entity_configs(USERS, sanitized(user))
        if any(value is None and key not in stored for key, value in changes.items()):
            raise KafkaException(Errors.RESOURCE_NOT_FOUND, "there is no such credential to delete")
        await self._configs.change(USERS, sanitized(user), stored, changes)
        if upsertions:
            log.warning(
                "user %s: SCRAM credentials are stored but have no effect yet, because %s",
                user,
                NO_SASL,
            )


def _mechanism(user: str, number: int) -> ScramMechanism:
    if not user:
        raise KafkaException(Errors.UNACCEPTABLE_CREDENTIAL, "a user's name cannot be empty")
    try:
        return ScramMechanism(number)
    except ValueError:
        raise KafkaException(
            Errors.UNSUPPORTED_SASL_MECHANISM, f"there is no SCRAM mechanism {number}"
        ) from None


def _check(upsertion: ScramUpsertion) -> None:
    if not MIN_ITERATIONS <= upsertion.iterations <= MAX_ITERATIONS:
        raise KafkaException(
            Errors.UNACCEPTABLE_CREDENTIAL,
            f"iterations are from {MIN_ITERATIONS} to {MAX_ITERATIONS}, not {upsertion.iterations}",
        )
    if not upsertion.salted_password:
        raise KafkaException(
            Errors.UNKNOWN_SERVER_ERROR, "the salted password cannot be empty"
        )  # the code is Kafka's


def _iterations(credential: str) -> int:
    """Return the number of iterations, or 0 if the credential is malformed. That happens if
    somebody wrote it into ZooKeeper by hand.
    """
    fields = dict(field.partition("=")[::2] for field in credential.split(","))
    text = fields.get("iterations", "")
    return int(text) if text.isascii() and text.isdecimal() else 0
