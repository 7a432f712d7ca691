"""Client quotas and users' SCRAM credentials: which values are stored, and which are refused."""

import math
from typing import Final

from kafka_edu.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntry,
    EntityData,
    OpData,
)
from kafka_edu.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafka_edu.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from kafka_edu.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from tests.conformance.replay import Asker

SETTINGS: Final[dict[str, str]] = {}
DIFFERENT: Final[dict[str, str]] = {}
EXACT, DEFAULT, ANY = 0, 1, 2
Entity = list[tuple[str, str | None]]


def quotas(
    *entries: tuple[Entity, dict[str, float | None]], validate_only: bool = False
) -> AlterClientQuotasRequest:
    listed = [
        AlterClientQuotasRequestEntry(
            entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            ops=[
                OpData(key=key, value=value or 0.0, remove=value is None)
                for key, value in values.items()
            ],
        )
        for entity, values in entries
    ]
    return AlterClientQuotasRequest(entries=listed, validate_only=validate_only)


def described(
    *components: tuple[str, int, str | None], strict: bool = False
) -> DescribeClientQuotasRequest:
    return DescribeClientQuotasRequest(
        components=[
            ComponentData(entity_type=kind, match_type=match_type, match=match)
            for kind, match_type, match in components
        ],
        strict=strict,
    )


def credentials(
    *upsertions: tuple[str, int, int, bytes, bytes], delete: tuple[tuple[str, int], ...] = ()
) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(
        deletions=[
            ScramCredentialDeletion(name=name, mechanism=mechanism) for name, mechanism in delete
        ],
        upsertions=[
            ScramCredentialUpsertion(name=n, mechanism=m, iterations=i, salt=s, salted_password=p)
            for n, m, i, s, p in upsertions
        ],
    )


def users(*names: str) -> DescribeUserScramCredentialsRequest:
    return DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names])


def ask_all(asker: Asker) -> None:
    ask_quotas(asker)
    ask_credentials(asker)


def ask_quotas(asker: Asker) -> None:
    asker.ask("no quotas", described(), 1)
    for version in (0, 1):
        asker.ask("a user's", quotas(([("user", "u")], {"producer_byte_rate": 1000.0})), version)
    right: list[tuple[Entity, dict[str, float | None]]] = [
        (
            [("user", "u"), ("client-id", "c")],
            {"consumer_byte_rate": 2000.0, "request_percentage": 12.5},
        ),
        ([("client-id", "c")], {"request_percentage": 50.0}),
        ([("user", None)], {"producer_byte_rate": 1.0}),
        ([("client-id", None)], {"producer_byte_rate": 2.0}),
        ([("user", None), ("client-id", None)], {"producer_byte_rate": 3.0}),
        ([("user", "u"), ("client-id", None)], {"producer_byte_rate": 4.0}),
        ([("ip", "127.0.0.1")], {"connection_creation_rate": 10.0}),
        ([("ip", None)], {"connection_creation_rate": 11.0}),
        ([("user", "a b%*ü")], {"controller_mutation_rate": 11.0}),
        ([("user", "u")], {"producer_byte_rate": 0.0}),
        ([("user", "u"), ("user", "v")], {"producer_byte_rate": 1.0}),
        ([("user", "u")], {}),
        ([("user", "u")], {"no.such.quota": None}),
        ([("user", "nobody")], {"producer_byte_rate": None}),
        ([("client-id", "nan")], {"producer_byte_rate": math.nan}),
    ]
    for entity, values in right:
        asker.ask(f"quota of {entity}: {values}", quotas((entity, values)), 1)
    wrong: list[tuple[Entity, dict[str, float | None]]] = [
        ([], {"producer_byte_rate": 1.0}),
        ([("foo", "x")], {"producer_byte_rate": 1.0}),
        ([("user", "")], {"producer_byte_rate": 1.0}),
        ([("client-id", "")], {"producer_byte_rate": 1.0}),
        ([("ip", "x.y..z!")], {"connection_creation_rate": 1.0}),
        ([("ip", "1.2.3.4"), ("user", "u")], {"connection_creation_rate": 1.0}),
        ([("user", "u")], {"no.such.quota": 1.0}),
        ([("user", "u")], {"connection_creation_rate": 1.0}),
        ([("ip", "1.2.3.4")], {"producer_byte_rate": 1.0}),
        ([("user", "u")], {"producer_byte_rate": -1.0}),
        ([("user", "u")], {"producer_byte_rate": 1.5}),
        ([("user", "u")], {"producer_byte_rate": 1e30}),
        ([("ip", "127.0.0.1")], {"connection_creation_rate": 1.5}),
        ([("user", "u")], {"SCRAM-SHA-256": 1.0}),
    ]
    for entity, values in wrong:
        asker.ask(f"wrong quota of {entity}: {values}", quotas((entity, values)), 1)
    q: Entity = [("user", "q")]
    asker.ask(
        "one entity twice",
        quotas((q, {"producer_byte_rate": 1.0}), (q, {"producer_byte_rate": 2.0})),
        1,
    )
    asker.ask(
        "one right, one wrong",
        quotas((q, {"producer_byte_rate": 3.0}), ([("foo", "q")], {"producer_byte_rate": 2.0})),
        1,
    )
    asker.ask("no entities", quotas(), 1)
    asker.ask(
        "only asked",
        quotas(([("user", "asked")], {"producer_byte_rate": 3.0}), validate_only=True),
        1,
    )
    for version in (0, 1):
        asker.ask("all quotas", described(), version)
    for components, strict in (
        ([("user", EXACT, "u")], False),
        ([("user", EXACT, "u")], True),
        ([("user", DEFAULT, None)], False),
        ([("user", ANY, None)], True),
        ([("client-id", ANY, None)], False),
        ([("user", EXACT, "u"), ("client-id", DEFAULT, None)], True),
        ([("user", EXACT, "nope")], True),
        ([("ip", ANY, None)], True),
        ([("ip", EXACT, "127.0.0.1")], False),
        ([("user", EXACT, "a b%*ü")], True),
        ([("foo", EXACT, "x")], False),
        ([("", EXACT, "x")], False),
        ([("user", 3, None)], False),
        ([("user", EXACT, None)], False),
        ([("user", DEFAULT, "x")], False),
        ([("user", EXACT, "u"), ("user", DEFAULT, None)], False),
        ([("ip", ANY, None), ("user", ANY, None)], False),
        ([], True),
    ):
        asker.ask(
            f"quotas of {components}, strict {strict}", described(*components, strict=strict), 1
        )
    asker.ask("take one away", quotas(([("user", "u")], {"producer_byte_rate": None})), 1)
    asker.ask("what is left", described(("user", EXACT, "u")), 1)


def ask_credentials(asker: Asker) -> None:
    asker.ask("no credentials", users(), 0)
    asker.ask("SHA-256", credentials(("bob", 1, 4096, b"salt", b"pw" * 16)), 0)
    asker.ask("SHA-512", credentials(("bob", 2, 8192, b"salt", b"pw" * 32)), 0)
    for each in (
        ("bob", 0, 4096, b"s", b"p"),
        ("bob", 3, 4096, b"s", b"p"),
        ("bob", 1, 4095, b"s", b"p"),
        ("bob", 1, 16385, b"s", b"p"),
        ("", 1, 4096, b"s", b"p"),
        ("bob", 1, 4096, b"s", b""),
        ("empty.salt", 1, 4096, b"", b"p"),
    ):
        asker.ask(f"credential {each}", credentials(each), 0)
    for gone in (("bob", 0), ("bob", 3), ("nobody", 1), ("", 1)):
        asker.ask(f"delete {gone}", credentials(delete=(gone,)), 0)
    al = ("al", 1, 4096, b"s", b"p")
    asker.ask("one twice", credentials(al, al), 0)
    asker.ask("written and deleted", credentials(al, delete=(("al", 1),)), 0)
    asker.ask("both mechanisms", credentials(al, ("al", 2, 4096, b"s", b"p")), 0)
    asker.ask(
        "one user right, one wrong",
        credentials(("ok", 1, 4096, b"s", b"p"), ("wrong", 0, 4096, b"s", b"p")),
        0,
    )
    asker.ask(
        "one user's right and wrong",
        credentials(("cc", 1, 4096, b"s", b"p"), ("cc", 0, 4096, b"s", b"p")),
        0,
    )
    asker.ask("no changes", credentials(), 0)
    asker.ask("all credentials", DescribeUserScramCredentialsRequest(users=None), 0)
    asker.ask("all credentials, by no names", users(), 0)
    for names in (("bob",), ("nobody", "bob"), ("bob", "bob"), ("",), ("u",)):
        asker.ask(f"credentials of {names}", users(*names), 0)
    asker.ask("delete one", credentials(delete=(("bob", 1),)), 0)
    asker.ask("the other", users("bob"), 0)
    asker.ask("delete it too", credentials(delete=(("bob", 2),)), 0)
    asker.ask("none", users("bob"), 0)
