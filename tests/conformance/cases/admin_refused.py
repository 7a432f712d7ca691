"""Requests that need SASL, an authorizer, delegation tokens or features, sent to a broker that has
none of them.
"""

from typing import Any, Final

from kafka_edu.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from kafka_edu.protocol.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from kafka_edu.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kafka_edu.protocol.messages.describe_acls import DescribeAclsRequest
from kafka_edu.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from kafka_edu.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kafka_edu.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from kafka_edu.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_edu.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafka_edu.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.conformance.replay import Asker

SETTINGS: Final[dict[str, str]] = {}
DIFFERENT: Final[dict[str, str]] = {}
ANY: Final = 1
LITERAL: Final = 3


def describe_acls(**types: Any) -> DescribeAclsRequest:
    given = {
        "resource_type_filter": ANY,
        "pattern_type_filter": LITERAL,
        "operation": ANY,
        "permission_type": ANY,
    } | types
    return DescribeAclsRequest(**given)


def create_acl(**types: Any) -> CreateAclsRequest:
    given = {
        "resource_type": 2,
        "resource_name": "t",
        "resource_pattern_type": LITERAL,
        "principal": "User:a",
        "host": "*",
    }
    return CreateAclsRequest(
        creations=[AclCreation(**(given | {"operation": 3, "permission_type": 3} | types))]
    )


def delete_acls(**types: Any) -> DeleteAclsRequest:
    given = {
        "resource_type_filter": ANY,
        "pattern_type_filter": LITERAL,
        "operation": ANY,
        "permission_type": ANY,
    } | types
    return DeleteAclsRequest(filters=[DeleteAclsFilter(**given)])


def update_features(*updates: tuple[str, int, bool]) -> UpdateFeaturesRequest:
    keys = [
        FeatureUpdateKey(feature=name, max_version_level=level, allow_downgrade=down)
        for name, level, down in updates
    ]
    return UpdateFeaturesRequest(timeout_ms=1000, feature_updates=keys)


def ask_all(asker: Asker) -> None:
    for version in (0, 1):
        asker.ask("handshake", SaslHandshakeRequest(mechanism="PLAIN"), version)
    for version in range(3):
        asker.ask("authenticate", SaslAuthenticateRequest(auth_bytes=b"\0a\0b"), version)
    asker.ask("the connection is still open", SaslHandshakeRequest(mechanism="PLAIN"), 1)
    ask_acls(asker)
    ask_tokens(asker)
    asker.ask("no features", update_features(), 0)
    for name, level, down in (
        ("foo", 1, False),
        ("foo", 0, False),
        ("foo", 0, True),
        ("foo", -1, True),
        ("", 1, False),
    ):
        asker.ask(f"feature {name!r} {level} {down}", update_features((name, level, down)), 0)
    asker.ask("one feature twice", update_features(("foo", 1, False), ("foo", 2, True)), 0)
    asker.ask("two features", update_features(("foo", 1, False), ("bar", 2, True)), 0)


def ask_acls(asker: Asker) -> None:
    for version in range(3):
        asker.ask("describe ACLs", describe_acls(), version)
        asker.ask("create an ACL", create_acl(), version)
        asker.ask("delete ACLs", delete_acls(), version)
    for name in ("resource_type_filter", "pattern_type_filter", "operation", "permission_type"):
        for value in (0, 99):
            asker.ask(f"describe ACLs of {name} {value}", describe_acls(**{name: value}), 2)
            asker.ask(f"delete ACLs of {name} {value}", delete_acls(**{name: value}), 2)
    for name in ("resource_type", "resource_pattern_type", "operation", "permission_type"):
        for value in (0, 1, 99):
            asker.ask(f"create an ACL of {name} {value}", create_acl(**{name: value}), 2)
    asker.ask("create an ACL for nobody", create_acl(principal="x", resource_name=""), 2)
    asker.ask(
        "describe ACLs of a principal that is none",
        describe_acls(principal_filter="nocolon", resource_name_filter=""),
        2,
    )
    asker.ask("create no ACLs", CreateAclsRequest(creations=[]), 2)
    asker.ask("delete no ACLs", DeleteAclsRequest(filters=[]), 2)
    asker.ask("delete by two filters", DeleteAclsRequest(filters=delete_acls().filters * 2), 2)


def ask_tokens(asker: Asker) -> None:
    for version in range(3):
        asker.ask(
            "create a token", CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1), version
        )
        asker.ask(
            "renew a token", RenewDelegationTokenRequest(hmac=b"x", renew_period_ms=1), version
        )
        asker.ask(
            "expire a token",
            ExpireDelegationTokenRequest(hmac=b"x", expiry_time_period_ms=1),
            version,
        )
        asker.ask("describe tokens", DescribeDelegationTokenRequest(owners=None), version)
    owner = DescribeDelegationTokenOwner(principal_type="User", principal_name="a")
    asker.ask("describe tokens of nobody", DescribeDelegationTokenRequest(owners=[]), 2)
    asker.ask("describe tokens of one", DescribeDelegationTokenRequest(owners=[owner]), 2)
    renewer = CreatableRenewers(principal_type="Group", principal_name="x")
    asker.ask(
        "create a token for a group",
        CreateDelegationTokenRequest(renewers=[renewer], max_lifetime_ms=0),
        2,
    )
