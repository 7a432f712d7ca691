"""Access lists: the clients' permissions for a znode (ZooKeeper: PrepRequestProcessor.checkACL and
fixupACL, the auth providers).

    world:anyone        every client
    digest:user:hash    a client that has sent AddAuth with user:password
    ip:address/bits     a client with an address in this network; needs no AddAuth
    auth:               all identities that the client itself has proved

When a list is stored, an entry `auth` is replaced by one entry for each identity that the client
has proved. A list belongs to one node, and the node's children do not inherit it.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_edu.zk.jute.op_code import Perms
from kafka_edu.zk.jute.proto import Acl, AclList
from kafka_edu.zk.zk_client import ZkError, ZkErrorCode

WORLD_ANYONE: Final = ("world", "anyone")


class AuthId(NamedTuple):
    """One identity that a client has proved on its connection."""

    scheme: str
    id: str


def authenticate(scheme: str, auth: bytes, address: str) -> AuthId | None:
    """Return the identity that the credentials `auth` prove, or None if the server does not know
    `scheme`.
    """
    if scheme == "ip":
        return AuthId("ip", address)
    if scheme == "digest":
        text = auth.decode("utf-8", "replace")
        user = text.split(":", 1)[0]
        return AuthId("digest", f"{user}:{_digest(text)}")
    return None


def fixup(path: str, acl: AclList, identities: Sequence[AuthId]) -> AclList:
    """Return the access list `acl` in the form in which the server stores it.

    Repeated entries are removed, and each entry `auth` is replaced by the client's identities.
    Raises ZkError(INVALID_ACL) if the list is empty or has a bad entry.
    """
    fixed: dict[Acl, None] = {}
    for entry in dict.fromkeys(acl):
        match entry.scheme:
            case "world" if entry.id == "anyone":
                fixed[entry] = None
            case "auth":
                proved = [
                    Acl(entry.perms, identity.scheme, identity.id)
                    for identity in identities
                    if identity.scheme != "ip"
                ]
                if not proved:
                    raise ZkError(ZkErrorCode.INVALID_ACL, path)
                fixed.update(dict.fromkeys(proved))
            case "digest" if (
                entry.id.count(":") == 1
                and not entry.id.startswith(":")
                and not entry.id.endswith(":")
            ):
                fixed[entry] = None
            case "ip" if _network(entry.id) is not None:
                fixed[entry] = None
            case _:
                raise ZkError(ZkErrorCode.INVALID_ACL, path)
    if not fixed:
        raise ZkError(ZkErrorCode.INVALID_ACL, path)
    return tuple(fixed)


def check(path: str, acl: AclList, perm: Perms, identities: Sequence[AuthId]) -> None:
    """Raise ZkError(NO_AUTH) unless one of `identities` has the permission `perm`. If the list is
    world:anyone, this is O(1).
    """
    if not allows(acl, perm, identities):
        raise ZkError(ZkErrorCode.NO_AUTH, path)


def allows(acl: AclList, perm: Perms, identities: Sequence[AuthId]) -> bool:
    for entry in acl:
        if not entry.perms & perm:
            continue
        if entry[1:] == WORLD_ANYONE:
            return True
        for identity in identities:
            if identity.scheme == entry.scheme and _matches(entry, identity):
                return True
    return not acl


def without_hashes(acl: AclList) -> AclList:
    """Return the access list without its password hashes. Only clients with the ADMIN permission
    may see the hashes.
    """
    return tuple(
        entry._replace(id=entry.id.split(":", 1)[0] + ":x") if entry.scheme == "digest" else entry
        for entry in acl
    )


def _matches(entry: Acl, identity: AuthId) -> bool:
    if entry.scheme != "ip":
        return entry.id == identity.id
    wanted, is_ = _network(entry.id), _network(identity.id)
    if wanted is None or is_ is None or wanted[2] != is_[2]:
        return False
    shift = wanted[2] - wanted[1]
    return wanted[0] >> shift == is_[0] >> shift


def _network(text: str) -> tuple[int, int, int] | None:
    """Parse a network such as `10.0.0.0/8`. Return its address as a number, the length of its
    prefix (8), and the length of an address in bits (32). Return None for other text.
    """
    import ipaddress  # this import takes 5 ms, so it happens only when needed

    address, slash, bits = text.partition("/")
    try:
        parsed = ipaddress.ip_address(address)
        count = int(bits) if slash else parsed.max_prefixlen
    except ValueError:
        return None
    return (
        (int(parsed), count, parsed.max_prefixlen) if 0 <= count <= parsed.max_prefixlen else None
    )


def _digest(user_and_password: str) -> str:
    """Return base64(sha1("user:password")), as ZooKeeper does. SHA-1 is too weak today to protect a
    password.
    """
    import base64
    import hashlib  # imported here because few connections authenticate

    return base64.b64encode(hashlib.sha1(user_and_password.encode()).digest()).decode()
