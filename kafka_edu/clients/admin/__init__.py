"""The admin client: ask the brokers of a cluster about members, groups and topics, or change them.

Kafka: Admin.java; AdminClient.scala of 2.0.

`admin` is the client for programs. Its decisions are in `admin_core`, `admin_metadata` and
`admin_config`. Its calls are in `topic_calls`, `config_calls`, `partition_calls`, `log_dir_calls`,
`group_calls` and `cluster_calls`. docs/admin.md describes it.

`first_contact` opens a client, and fails soon if no broker can be reached. `new_topic` creates a
topic even if there is no controller at the moment. Errors are ClientExceptions. All modules use
Kafka's own texts for errors, and print nothing.
"""


class AdminTimeoutError(Exception):
    """No broker of the bootstrap servers can be reached, or a group was not ready in time."""


class BootstrapAddressError(ValueError):
    """A part of `bootstrap.servers` is not host:port. The message is the same as in Kafka."""


def parse_addresses(servers: str) -> list[tuple[str, int]]:
    """Split `host:port,host:port` into pairs (host, port).

    Raises BootstrapAddressError, with the same message as Kafka, if a part is not host:port.
    """
    addresses = []
    for server in servers.split(","):
        host, _, port = server.strip().rpartition(":")
        if not host or not port.isdecimal():
            raise BootstrapAddressError(f"Invalid url in bootstrap.servers: {server}")
        addresses.append((host.strip("[]"), int(port)))
    return addresses
